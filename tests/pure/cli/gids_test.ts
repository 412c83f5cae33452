import { assertEquals } from "@std/assert";
import { gidLines } from "../../../cli/gids.ts";
import { alignColumns } from "../../../cli/table.ts";
import { GIDS } from "./fake_device.ts";

Deno.test("gidLines() marks what is recommended and says why", () => {
  const entries = GIDS.map((entry, i) => ({
    ...entry,
    version: i === 1 ? "v2" as const : "IB" as const,
    netdev: "eth0",
  }));
  const lines = gidLines([
    { device: "fake0", port: 1, entries, recommended: 1, reason: "It is best" },
    { device: "fake0", port: 2, entries: [], recommended: undefined, reason: "There is none" },
  ]);
  const text = (line: typeof lines[number]): string =>
    typeof line === "string"
      ? line
      : line.map((part) => typeof part === "string" ? part : part.text).join("");
  assertEquals(lines.map(text), [
    "   DEV    PORT  INDEX  GID                                      IPv4      VER  NETDEV",
    "   fake0  1     0      fe80:0000:0000:0000:0000:0000:0000:0001            IB   eth0",
    "*  fake0  1     1      0000:0000:0000:0000:0000:ffff:0a00:0000  10.0.0.0  v2   eth0",
    "   fake0  1     2      fe80:0000:0000:0000:0000:0000:0000:0003            IB   eth0",
    "",
    "* fake0 port 1: index 1. It is best",
    "fake0 port 2: There is none",
  ]);
});

Deno.test("alignColumns() aligns numbers to the right and leaves no blanks at the end", () => {
  assertEquals(alignColumns([["a", { right: "1" }, ""], ["bcd", { right: "123" }, "x"]]), [
    "a      1",
    "bcd  123  x",
  ]);
});
