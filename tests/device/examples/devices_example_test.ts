import { assertEquals, assertStringIncludes } from "@std/assert";
import { main } from "../../../examples/devices.ts";
import { deviceTest, gidOf, openRxe, PORT, RXE } from "../setup.ts";
import { linesOf, runHere } from "./ladder.ts";

deviceTest("devices.ts shows each GID, and marks the recommended one", async () => {
  const lines = linesOf(await runHere(main, "--device", RXE));
  using context = openRxe();
  assertEquals(lines.slice(0, 2), [`${RXE}: CA, IB`, `  port ${PORT}: ACTIVE, ETHERNET, MTU 1024`]);
  const shown = lines.slice(2, -1).map((line) => {
    const [, mark, index, type, gid] = /^ {4}([* ]) GID (\d+) +(\S+) +(\S+)$/.exec(line)!;
    return [mark === "*", Number(index), type, gid];
  });
  const best = gidOf(context, "ipv4").gidIndex;
  assertEquals(
    shown,
    context.gidTable(PORT).map((
      { gid, gidIndex },
    ) => [gidIndex === best, gidIndex, "ROCE_V2", `${gid}`]),
  );
  assertStringIncludes(lines.at(-1)!, "    * RoCE v2 with an IPv4 address");
});
