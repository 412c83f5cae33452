import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Context } from "../../../mod.ts";
import { PORT, RXE, sysfs } from "../../../tests/device/setup.ts";
import { ETHERNET_PORT, STUB, stubTest } from "../../../tests/device/stub.ts";
import { cli } from "./cli.ts";

stubTest("gids shows each GID of a port as the kernel has it, and marks one", async () => {
  const { stdout, stderr, code } = await cli("gids", "-d", RXE);
  assertEquals([stderr, code], ["", 0]);
  const [header, ...lines] = stdout.split("\n");
  assertMatch(header!, /^ +DEV +PORT +INDEX +GID +IPv4 +VER +NETDEV$/);
  using context = Context.open(RXE);
  const { gidIndex, reason } = context.recommendGid(PORT);
  for (const [i, { gidIndex: index }] of context.gidTable(PORT).entries()) {
    const cells = lines[i]!.trim().split(/ +/);
    assertEquals(cells[0] === "*", index === gidIndex);
    assertStringIncludes(lines[i]!, sysfs(`ports/${PORT}/gids/${index}`));
    assertEquals(cells.at(-1), sysfs(`ports/${PORT}/gid_attrs/ndevs/${index}`));
  }
  assertEquals(lines.at(-2), `* ${RXE} port ${PORT}: index ${gidIndex}. ${reason}`);
});

stubTest("gids shows all ports of all devices, or those that are chosen", async () => {
  const all = JSON.parse((await cli("gids", "--json")).stdout) as {
    device: string;
    port: number;
  }[];
  assertEquals(all.map(({ device, port }) => [device, port]), [
    [RXE, PORT],
    [STUB, 1],
    [STUB, ETHERNET_PORT],
  ]);
  const one = JSON.parse((await cli("gids", "--json", "-d", STUB, "-i", "2")).stdout);
  assertEquals(one, [all[2]]);
  assertEquals(one[0].gids.map(({ version }: { version: string }) => version), ["v1", "v1"]);
});
