// The page of results of other systems, and what tests ask of the kernel they run on.

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { SetupError } from "../../../tools/host/setup.ts";
import { pageOf, type Row } from "../../../tools/systems/page.ts";
import { sumOf } from "../../../tools/systems/parts.ts";
import { differs } from "../../device/kernels.ts";
import { runDeno } from "../../subprocess.ts";

const COUNTS = { passed: 10, failed: 0, ignored: 2 };

function row(tests: Row["tests"], system: string, more: Partial<Row> = {}): Row {
  return {
    tests,
    system,
    rdmaCore: "1.0",
    glibc: "2.3",
    counts: COUNTS,
    date: "2026-01-02",
    ...more,
  };
}

Deno.test("pageOf() puts a row in the place of that of the same system, in order", async () => {
  const rows = [
    row("device", "Linux 6.12.1+deb13-amd64, Debian 13"),
    row("library", "Debian sid"),
    row("library", "Debian 13"),
    row("device", "Linux 6.1.0-50-amd64, Debian 12"),
    row("library", "Debian 9"),
    row("device", "Linux 6.12.107+deb13-amd64, Debian 13", { date: "2026-03-04" }),
    row("library", "Debian 13", { counts: { ...COUNTS, failed: 3 } }),
  ];
  const page = rows.reduce(pageOf, "");
  const lines = page.split("\n").filter((line) => /^\| (library|device)/.test(line));
  assertEquals(lines.map((line) => line.replaceAll(/ +/g, " ")), [
    "| library | Debian 9 | 1.0 | 2.3 | 10 | 0 | 2 | 2026-01-02 |",
    "| library | Debian 13 | 1.0 | 2.3 | 10 | 3 | 2 | 2026-01-02 |",
    "| library | Debian sid | 1.0 | 2.3 | 10 | 0 | 2 | 2026-01-02 |",
    "| device | Linux 6.1.0-50-amd64, Debian 12 | 1.0 | 2.3 | 10 | 0 | 2 | 2026-01-02 |",
    "| device | Linux 6.12.107+deb13-amd64, Debian 13 | 1.0 | 2.3 | 10 | 0 | 2 | 2026-03-04 |",
  ]);
  const file = await Deno.makeTempFile({ suffix: ".md" });
  await Deno.writeTextFile(file, page);
  const { code } = await runDeno(["fmt", "--check", "--quiet", "--line-width=100", file]);
  assertEquals(code, 0);
  await Deno.remove(file);
});

Deno.test("sumOf() adds the results of folders, as old as the oldest", () => {
  const parts = {
    a: { passed: 3, failed: 0, ignored: 1, date: "2026-03-04" },
    b: { passed: 4, failed: 2, ignored: 0, date: "2026-01-02" },
    old: { passed: 9, failed: 9, ignored: 9, date: "2025-01-02" },
  };
  const sum = { passed: 7, failed: 2, ignored: 1, date: "2026-01-02" };
  assertEquals(sumOf(parts, ["a", "b"]), sum);
  assertThrows(() => sumOf(parts, ["a", "c"]), SetupError, "these have not run yet: c");
});

Deno.test("differs() compares numbers of versions", () => {
  const releases = ["5.10.0-32-amd64", "6.1.0-50-amd64", "6.12.107+deb13-amd64", "7.3.4+deb13"];
  assertEquals(releases.map((release) => differs("dropsDatagrams", release)), [
    ...[false, false, true, true],
  ]);
});

Deno.test("long systems refuses a system that it does not know", async () => {
  const { code, stderr } = await runDeno(["run", "-A", "--no-check", "tools/systems.ts", "14"]);
  assertEquals(code, 1);
  assertStringIncludes(
    stderr,
    'error: There is no system "14", only 11, 12, 13, sid, 6.1, 6.12, 7.3\n',
  );
});
