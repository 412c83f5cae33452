// The device list, opening, and what a context says of its device.
import {
  assert,
  assertEquals,
  assertGreater,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  CompletionQueue,
  Context,
  type DeviceAttr,
  GidType,
  LinkLayer,
  listDevices,
  NodeType,
  type PortAttr,
  PortState,
  ProtectionDomain,
  TransportType,
  VerbsError,
} from "../../../mod.ts";
import { camelCase } from "../../../ffi/struct.ts";
import { outputOf } from "../../subprocess.ts";
import { countOf, deviceTest, openRxe, PORT, RXE, sysfs } from "../setup.ts";

function runDevinfo(): string {
  const { stdout } = new Deno.Command("ibv_devinfo", { args: ["-v", "-d", RXE] }).outputSync();
  return new TextDecoder().decode(stdout);
}

/** Lines `name: value` of the C tool, numbers only, by the attribute's name. */
function devinfo(): Map<string, bigint> {
  const lines = runDevinfo().matchAll(
    /^\s*(\w+):\s+(?:.*\((\d+)\)|(0x[0-9a-fA-F]+|\d+))$/gm,
  );
  return new Map(
    [...lines].map(([, name, code, number]) => [camelCase(name!), BigInt(code ?? number!)]),
  );
}

function assertAgrees(attr: DeviceAttr | PortAttr, others: readonly string[]): void {
  const expected = devinfo();
  const compared = Object.entries(attr).filter(([name]) => expected.has(name));
  for (const [name, value] of compared) assertEquals(BigInt(value), expected.get(name), name);
  const rest = Object.keys(attr).filter((name) => !expected.has(name));
  assertEquals(rest.sort(), [...others].sort());
}

deviceTest("listDevices() says what sysfs says", () => {
  const device = listDevices().find(({ name }) => name === RXE);
  assertEquals(device?.guid, BigInt(`0x${sysfs("node_guid").replaceAll(":", "")}`));
  assertEquals(device?.nodeType, NodeType.CA);
  assertEquals(device?.transportType, TransportType.IB);
  const verbs = `/sys/class/infiniband_verbs/${device?.devName}/ibdev`;
  assertEquals(Deno.readTextFileSync(verbs).trim(), RXE);
  assertGreater(device!.index, -1);
});

deviceTest("Context.open() opens the first device that sysfs says is active", () => {
  const active = listDevices().map(({ name }) => name).filter(isActive);
  using context = Context.open();
  assertEquals(context.device.name, active[0]);
});

function isActive(name: string): boolean {
  const ports = `/sys/class/infiniband/${name}/ports`;
  return [...Deno.readDirSync(ports)].some((port) =>
    Deno.readTextFileSync(`${ports}/${port.name}/state`).includes(": ACTIVE")
  );
}

deviceTest("Context.open() names the file when it may not be opened", async () => {
  const { devName } = listDevices().find(({ name }) => name === RXE)!;
  const file = `/dev/infiniband/${devName}`;
  const { mode } = Deno.statSync(file);
  // root passes over modes unless it gives up these capabilities
  const lost = ["-dac_override", "-dac_read_search"].join(",");
  Deno.chmodSync(file, 0o000);
  try {
    const printed = await outputOf(
      `
      import { Context, VerbsError } from MOD;
      try { Context.open("${RXE}"); } catch (error) {
        console.log(error instanceof VerbsError, error.verb, error.hint);
      }`,
      { prefix: ["setpriv", `--bounding-set=${lost}`, `--inh-caps=${lost}`] },
    );
    assertEquals(printed, `true ibv_open_device ${file} must exist, readable and writable`);
  } finally {
    Deno.chmodSync(file, mode! & 0o777);
  }
});

deviceTest("Context.close() closes the device and all that was made from it", () => {
  const before = countOf("ctx");
  const context = openRxe();
  const pd = new ProtectionDomain(context);
  const cq = new CompletionQueue(context, { cqe: 4 });
  assertEquals(countOf("ctx"), before + 1);
  context.close();
  assertEquals(countOf("ctx"), before);
  assertEquals([context.disposed, pd.disposed, cq.disposed], [true, true, true]);
  assertThrows(() => context.queryDevice(), TypeError, "Cannot use context: it is disposed");
  context.close();
});

deviceTest("Context.queryDevice() agrees with ibv_devinfo", () => {
  using context = openRxe();
  const attr = context.queryDevice();
  assertAgrees(attr, ["fwVer", "nodeGuid", "sysImageGuid", "maxMapPerFmr"]);
  assertStringIncludes(runDevinfo(), `fw_ver:\t\t\t\t${attr.fwVer}\n`);
  assertEquals(attr.nodeGuid, context.device.guid);
  assertEquals(attr.sysImageGuid, BigInt(`0x${sysfs("sys_image_guid").replaceAll(":", "")}`));
  assertEquals(context.physPortCnt, attr.physPortCnt);
  assertEquals(BigInt(context.numCompVectors), devinfo().get("numCompVectors"));
});

deviceTest("Context.queryPort() agrees with ibv_devinfo", () => {
  using context = openRxe();
  const attr = context.queryPort(PORT);
  // ibv_devinfo prints one of both speeds.
  const { activeSpeedEx, ...others } = attr;
  const activeSpeed = activeSpeedEx || attr.activeSpeed;
  assertAgrees({ ...others, activeSpeed } as PortAttr, ["lid", "lmc", "linkLayer", "flags"]);
  assertEquals([attr.lid, attr.lmc], [0, 0]);
  assertEquals(attr.linkLayer, LinkLayer.ETHERNET);
  assertStringIncludes(sysfs(`ports/${PORT}/state`), `${PortState.ACTIVE}: ACTIVE`);
});

deviceTest("Context.queryGidTable() lists the slots in use as sysfs has them", () => {
  using context = openRxe();
  const table = context.queryGidTable(PORT);
  assertGreater(table.length, 1);
  for (const { gid, gidIndex, gidType, ndevIfindex, portNum } of table) {
    const folder = `ports/${PORT}`;
    const text = sysfs(`${folder}/gids/${gidIndex}`).replaceAll(":", "");
    assertEquals(gid.bytes.toHex(), text);
    assertEquals(sysfs(`${folder}/gid_attrs/types/${gidIndex}`), "RoCE v2");
    assertEquals(gidType, GidType.ROCE_V2);
    const netdev = sysfs(`${folder}/gid_attrs/ndevs/${gidIndex}`);
    assertEquals(
      ndevIfindex,
      Number(Deno.readTextFileSync(`/sys/class/net/${netdev}/ifindex`)),
    );
    assertEquals(portNum, PORT);
  }
  assertEquals(context.queryGidTable(), table);
});

deviceTest("Context.queryGid() and queryGidEx() agree with the table", () => {
  using context = openRxe();
  for (const entry of context.queryGidTable(PORT)) {
    assertEquals(context.queryGidEx(PORT, entry.gidIndex), entry);
    assert(context.queryGid(PORT, entry.gidIndex).equals(entry.gid));
  }
});

deviceTest("Context.queryGid() gives zeros, queryGidEx() ENODATA, of an empty slot", () => {
  using context = openRxe();
  const { gidTblLen } = context.queryPort(PORT);
  const last = gidTblLen - 1;
  assert(context.queryGid(PORT, last).isZero);
  const error = assertThrows(() => context.queryGidEx(PORT, last), VerbsError);
  assertEquals([error.verb, error.code], ["ibv_query_gid_ex", "ENODATA"]);
  assertStringIncludes(error.message, "The slot is empty");
});

deviceTest("Context.queryPkey() agrees with sysfs", () => {
  using context = openRxe();
  assertEquals(context.queryPkey(PORT, 0), Number(sysfs(`ports/${PORT}/pkeys/0`)));
});

deviceTest("Context.getPkeyIndex() finds a P_Key, and gives -1 when there is none", () => {
  using context = openRxe();
  assertEquals(context.getPkeyIndex(PORT, context.queryPkey(PORT, 0)), 0);
  assertEquals(context.getPkeyIndex(PORT, 0x1234), -1);
  assertThrows(() => context.getPkeyIndex(PORT, 0x1_0000), RangeError);
});
