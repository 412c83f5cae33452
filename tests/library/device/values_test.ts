// Values that libibverbs and the device report: clocks, rates, texts; imported devices; forks.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { structs } from "../../../ffi/layout.ts";
import { verbs } from "../../../ffi/library.ts";
import {
  Context,
  EventType,
  isQptSupported,
  Mtu,
  mtuBytes,
  NodeType,
  PortState,
  QpType,
  VerbsError,
} from "../../../mod.ts";
import {
  eventTypeStr,
  flowLabelToUdpSport,
  forkInit,
  ForkStatus,
  isForkInitialized,
  mbpsToRate,
  multToRate,
  nodeTypeStr,
  portStateStr,
  Rate,
  rateToMbps,
  rateToMult,
} from "../../../types/device/functions.ts";
import type { RecordedStruct } from "../../provider/records.ts";

Deno.test("Context.queryRtValuesEx() asks for the clock and reads both of its parts", () => {
  recorder.reset();
  using context = Context.open();
  recorder.take();
  const values = context.queryRtValuesEx();
  assertEquals(values, { compMask: 1, rawClock: { tvSec: 12n, tvNsec: 345n } });
  const { args: { values: struct } } = recorder.takeOne("ibv_query_rt_values_ex");
  assertEquals((struct as RecordedStruct).fields.comp_mask, 1);
});

Deno.test("Context.import() makes a context of a descriptor, and describes its device", () => {
  recorder.reset();
  recorder.setField("context", "context.cmd_fd", 77);
  {
    using context = Context.open("recorder0");
    assertEquals(context.cmdFd, 77);
    recorder.take();
    using imported = Context.import(context.cmdFd);
    assertEquals(recorder.takeOne("ibv_import_device").args.cmd_fd, 77);
    assertEquals(imported.device, context.device);
    assertEquals(imported.physPortCnt, 1);
  }
  assertEquals(recorder.live("context"), 0);
  assertEquals(recorder.violations(), []);
});

Deno.test("Context.import() leaves no context behind when the device has no name", () => {
  recorder.reset();
  recorder.fail("ibv_get_device_name", 0);
  const error = assertThrows(() => Context.import(3), VerbsError);
  assertEquals(error.verb, "ibv_get_device_name");
  assertEquals([recorder.live("context"), recorder.violations()], [0, []]);
});

Deno.test("mtuBytes() refuses what is no code of an MTU", () => {
  assertEquals(Object.values(Mtu).map(mtuBytes), [256, 512, 1024, 2048, 4096]);
  for (const mtu of [0, 6]) assertThrows(() => mtuBytes(mtu as Mtu), RangeError, "mtu");
});

Deno.test("Context.recommendGid() chooses from the table of the port", () => {
  recorder.reset();
  using context = Context.open();
  const { gidIndex, gid, reason } = context.recommendGid(1);
  assertEquals([gidIndex, gid.toString()], [1, "::ffff:10.0.0.1"]);
  assertStringIncludes(reason, "IPv4");
  assertThrows(() => context.recommendGid(2), RangeError);
});

Deno.test("Context.recommendGid() prefers the network interfaces of this namespace", () => {
  recorder.reset();
  const { size, fields: { ndev_ifindex: { offset } } } = structs.ibv_gid_entry;
  // The loopback interface is 1 in each namespace; no interface has the last index.
  for (const [entry, index] of [1, 0x7fff_ffff].entries()) {
    const bytes = new Uint8Array(Uint32Array.of(index).buffer);
    recorder.answerBytes("_ibv_query_gid_table", bytes, entry * size + offset);
  }
  using context = Context.open();
  const { gidIndex, ndevIfindex } = context.recommendGid(1);
  assertEquals([gidIndex, ndevIfindex], [0, 1]);
});

Deno.test("rateToMbps() and rateToMult() know the rates by their names", () => {
  assertEquals([rateToMult(Rate["10_GBPS"]), rateToMult(Rate["2_5_GBPS"])], [4, 1]);
  assertEquals(multToRate(4), Rate["10_GBPS"]);
  assertEquals(rateToMbps(Rate["100_GBPS"]), 103_125);
  assertEquals(mbpsToRate(rateToMbps(Rate["25_GBPS"])), Rate["25_GBPS"]);
  assertEquals([rateToMult(200 as Rate), rateToMbps(200 as Rate)], [-1, -1]);
  assertEquals([multToRate(12345), mbpsToRate(1)], [Rate.MAX, Rate.MAX]);
});

Deno.test("nodeTypeStr(), portStateStr() and eventTypeStr() give the texts of libibverbs", () => {
  assertEquals(nodeTypeStr(NodeType.CA), "InfiniBand channel adapter");
  assertEquals(nodeTypeStr(NodeType.UNKNOWN), "unknown");
  assertEquals(portStateStr(PortState.ACTIVE), "active");
  assertEquals(eventTypeStr(EventType.LID_CHANGE), "LID change");
  assertEquals(eventTypeStr(99 as EventType), "unknown");
});

Deno.test("forkInit() makes memory safe for forks, and isForkInitialized() tells", () => {
  recorder.reset();
  forkInit();
  assertEquals(isForkInitialized(), ForkStatus.ENABLED);
});

Deno.test("flowLabelToUdpSport() agrees with the header, within the range of dynamic ports", () => {
  assertEquals([0, 0xfffff, 0x4001].map(flowLabelToUdpSport), [0xc000, 0xffc0, 0xc000]);
  assertEquals(verbs().ibv_flow_label_to_udp_sport(0x12345), flowLabelToUdpSport(0x12345));
  assertThrows(() => flowLabelToUdpSport(0x10_0000), RangeError);
});

Deno.test("isQptSupported() says whether the bit of a transport service is set", () => {
  const supported = 1 << QpType.UD | 1 << QpType.RAW_PACKET;
  assertEquals(isQptSupported(supported, QpType.UD), true);
  assertEquals(isQptSupported(supported, QpType.RAW_PACKET), true);
  assertEquals(isQptSupported(supported, QpType.RC), false);
  assertThrows(() => isQptSupported(-1, QpType.UD), RangeError, "supportedQpts -1");
  // No bit of a capability stands for it.
  assertEquals(isQptSupported(0xffff_ffff, QpType.DRIVER), false);
  assertThrows(() => isQptSupported(1, 256), RangeError, "type 256");
});
