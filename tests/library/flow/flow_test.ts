// Flow steering, flow actions and counters, as a provider receives them.
import { assertEquals, assertThrows } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import type { Call, RecordedStruct } from "../../provider/records.ts";
import {
  CompletionQueue,
  Context,
  CounterDescription,
  Counters,
  Flow,
  FlowActionEsp,
  FlowActionEspFlags,
  FlowAttrType,
  FlowFlags,
  type FlowSpec,
  FlowSpecType,
  ProtectionDomain,
  QpType,
  QueuePair,
  ReadCountersFlags,
  VerbsError,
} from "../../../mod.ts";
import { testsOn } from "../recorded.ts";

function open(): { context: Context; qp: QueuePair } & Disposable {
  recorder.reset();
  const context = Context.open("recorder0");
  const pd = new ProtectionDomain(context);
  const cq = new CompletionQueue(context, { cqe: 16, channel: null });
  const cap = { maxSendWr: 4, maxRecvWr: 4 };
  const qp = new QueuePair(pd, { type: QpType.RAW_PACKET, sendCq: cq, recvCq: cq, cap });
  recorder.take();
  return {
    context,
    qp,
    [Symbol.dispose]: () => {
      context.close();
      assertEquals(recorder.violations(), []);
      assertEquals(recorder.live(), 0);
    },
  };
}

const on = testsOn(open);

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function struct(call: Call, name: string): RecordedStruct {
  return call.args[name] as RecordedStruct;
}

const { ETH, IPV4, IPV4_EXT, IPV6, ESP, TCP, UDP, VXLAN_TUNNEL, GRE, MPLS } = FlowSpecType;
const { ACTION_TAG, ACTION_DROP, ACTION_HANDLE, ACTION_COUNT } = FlowSpecType;

/** Each filter with its bytes on the wire: the fields of a header are in network order. */
const FILTERS: [FlowSpec, string][] = [
  [
    {
      type: ETH,
      val: { dstMac: "02:00:00:00:00:01", srcMac: "02:0:0:0:0:2", etherType: 0x800, vlanTag: 5 },
      mask: { dstMac: "ff:ff:ff:ff:ff:ff", etherType: 0xffff },
    },
    "20000000" + "2800" + "020000000001" + "020000000002" + "0800" + "0005" +
    "ffffffffffff" + "000000000000" + "ffff" + "0000" + "0000",
  ],
  [
    { type: IPV4, val: { srcIp: "10.0.0.1" }, mask: { srcIp: "255.255.255.0" } },
    "30000000" + "1800" + "0000" + "0a000001" + "00000000" + "ffffff00" + "00000000",
  ],
  [
    {
      type: IPV4_EXT,
      val: { dstIp: "10.0.0.2", proto: 17, tos: 1, ttl: 64, flags: 2 },
      mask: { dstIp: "255.255.255.255", proto: 0xff },
    },
    "32000000" + "2000" + "0000" + "00000000" + "0a000002" + "11014002" +
    "00000000" + "ffffffff" + "ff000000",
  ],
  [
    {
      type: IPV6,
      val: { srcIp: "fe80::1", flowLabel: 0x12345, nextHdr: 6, trafficClass: 7, hopLimit: 8 },
      mask: {},
    },
    "31000000" + "5800" + "0000" + "fe800000000000000000000000000001" + "0".repeat(32) +
    "00012345" + "06" + "07" + "08" + "00" + "0".repeat(80),
  ],
  [
    { type: ESP, val: { spi: 0x01020304, seq: 5 }, mask: { spi: 0xffff_ffff } },
    "34000000" + "1800" + "0000" + "01020304" + "00000005" + "ffffffff" + "00000000",
  ],
  [
    { type: UDP, val: { dstPort: 4791 }, mask: { dstPort: 0xffff } },
    "41000000" + "1000" + "12b7" + "0000" + "ffff" + "0000" + "0000",
  ],
  [
    { type: TCP, inner: true, val: { srcPort: 80 }, mask: { srcPort: 0xffff } },
    "40010000" + "1000" + "0000" + "0050" + "0000" + "ffff" + "0000",
  ],
  [
    { type: VXLAN_TUNNEL, val: { tunnelId: 0xabcdef }, mask: { tunnelId: 0xffffff } },
    "50000000" + "1000" + "0000" + "00abcdef" + "00ffffff",
  ],
  [
    { type: GRE, val: { cKsRes0Ver: 0x2000, protocol: 0x6558, key: 1 }, mask: { key: 0xffffffff } },
    "51000000" + "1800" + "0000" + "2000" + "6558" + "00000001" + "0000" + "0000" + "ffffffff",
  ],
  [
    { type: MPLS, val: { label: 0x12345678 }, mask: { label: 0xfffff000 } },
    "60000000" + "1000" + "0000" + "12345678" + "fffff000",
  ],
  [{ type: ACTION_TAG, tagId: 0x11223344 }, "00100000" + "0c00" + "0000" + "44332211"],
  [{ type: ACTION_DROP }, "01100000" + "0800" + "0000"],
];

for (const [spec, expected] of FILTERS) {
  Deno.test(`Flow sends spec type 0x${spec.type.toString(16)} in the layout of its struct`, () => {
    using setup = open();
    using _flow = new Flow(setup.qp, { port: 1, specs: [spec] });
    const call = recorder.takeOne("ibv_create_flow");
    assertEquals(hex(struct(call, "spec[0]").bytes), expected);
  });
}

on.test("Flow sends the rule, its size and the number of specifications", ({ qp }) => {
  const specs: FlowSpec[] = [{ type: ACTION_TAG, tagId: 1 }, { type: ACTION_DROP }];
  const attr = { type: FlowAttrType.NORMAL, priority: 3, port: 1, flags: FlowFlags.DONT_TRAP };
  using flow = new Flow(qp, { ...attr, specs });
  const call = recorder.takeOne("ibv_create_flow");
  const { fields } = struct(call, "attr");
  assertEquals(fields["type"], 0);
  assertEquals([fields["priority"], fields["port"], fields["flags"]], [3, 1, 2]);
  assertEquals([fields["size"], fields["num_of_specs"]], [20 + 12 + 8, 2]);
  assertEquals(call.args["qp"], "qp0");
  flow.close();
  assertEquals(recorder.takeOne("ibv_destroy_flow").args, { flow: "flow0" });
});

on.test("Flow keeps its action and its counters, and goes before them", ({ context, qp }) => {
  const keymat = { icvLen: 16, aesKey: new Uint8Array(16) };
  using action = new FlowActionEsp(context, { keymat });
  using counters = new Counters(context);
  const specs: FlowSpec[] = [
    { type: ACTION_HANDLE, action },
    { type: ACTION_COUNT, counters },
  ];
  const flow = new Flow(qp, { port: 1, specs });
  const call = recorder.takeOne("ibv_create_flow");
  assertEquals(struct(call, "spec[0]").fields["action"], "action0");
  assertEquals(struct(call, "spec[1]").fields["counters"], "counters0");
  counters.close();
  assertEquals(flow.disposed, true);
});

on.test("Flow refuses what is wrong before native code is reached", ({ qp }) => {
  const make = (specs: unknown) => () => new Flow(qp, { port: 1, specs: specs as FlowSpec[] });
  const cases: [unknown, new (message: string) => Error, string][] = [
    [null, TypeError, "specs null"],
    [[null], TypeError, "spec null"],
    [[{ type: 5 }], RangeError, "spec type 5"],
    [[{ type: UDP, val: { dstPort: 65536 }, mask: {} }], RangeError, "dstPort 65536"],
    [[{ type: UDP, val: {}, mask: { port: 1 } }], TypeError, '"port"'],
    [[{ type: UDP, val: {} }], TypeError, "port filter"],
    [[{ type: UDP, val: {}, mask: {}, tagId: 1 }], TypeError, "tagId does not belong"],
    [[{ type: ACTION_DROP, tagId: 1 }], TypeError, "tagId does not belong"],
    [[{ type: ACTION_COUNT, counters: {} }], TypeError, "not a Counters"],
    [[{ type: ETH, val: { dstMac: "2:3" }, mask: {} }], TypeError, "not a MAC address"],
    [[{ type: IPV4, val: { srcIp: "::1" }, mask: {} }], TypeError, "not an IPv4 address"],
    [[{ type: IPV4, val: { srcIp: "x" }, mask: {} }], SyntaxError, "x"],
    [Array(256).fill({ type: ACTION_DROP }), RangeError, "256 specifications"],
  ];
  for (const [specs, type, message] of cases) assertThrows(make(specs), type, message);
  assertThrows(() => new Flow(qp, { port: 9 }), RangeError, "port 9");
  assertThrows(() => new Flow({} as QueuePair, { port: 1 }), TypeError, "not a QueuePair");
  assertEquals(recorder.takeOf("ibv_create_flow"), []);
});

on.test("Flow reads a rule before it takes handles", ({ context, qp }) => {
  const counters = new Counters(context);
  const spec = {
    type: ACTION_COUNT,
    get counters() {
      counters.close();
      return counters;
    },
  };
  assertThrows(() => new Flow(qp, { port: 1, specs: [spec] }), TypeError, "disposed");
  const attr = {
    get port() {
      qp.close();
      return 1;
    },
  };
  assertThrows(() => new Flow(qp, attr), TypeError, "disposed");
});

on.test("Flow refuses counters of another context", ({ qp }) => {
  using other = Context.open("recorder0");
  using counters = new Counters(other);
  assertThrows(
    () => new Flow(qp, { port: 1, specs: [{ type: ACTION_COUNT, counters }] }),
    TypeError,
    "belongs to another context",
  );
});

on.test("Flow reports the errno, and what flow steering needs", ({ qp }) => {
  recorder.fail("ibv_create_flow", "EPERM");
  const error = assertThrows(() => new Flow(qp, { port: 1 }), VerbsError);
  assertEquals([error.code, error.verb], ["EPERM", "ibv_create_flow"]);
  assertEquals(error.hint, "Flow steering needs the capability CAP_NET_RAW");
});

Deno.test("Flow, Counters and FlowActionEsp are not supported by a provider without their ops", () => {
  recorder.reset();
  for (const op of ["ibv_create_flow", "create_counters", "create_flow_action_esp"]) {
    recorder.lack(op);
  }
  using context = Context.open("recorder0");
  using pd = new ProtectionDomain(context);
  using cq = new CompletionQueue(context, { cqe: 16, channel: null });
  const cap = { maxSendWr: 0, maxRecvWr: 4 };
  using qp = new QueuePair(pd, { type: QpType.RAW_PACKET, sendCq: cq, recvCq: cq, cap });
  const keymat = { icvLen: 16, aesKey: new Uint8Array(16) };
  for (
    const make of [
      () => new Flow(qp, { port: 1 }),
      () => new Counters(context),
      () => new FlowActionEsp(context, { keymat }),
    ]
  ) {
    assertEquals(assertThrows(make, VerbsError).notSupported, true);
  }
});

on.test("Counters attach counting points and read values", ({ context, qp }) => {
  using counters = new Counters(context);
  counters.attach({ counterDesc: CounterDescription.BYTES, index: 1 });
  const attach = recorder.takeOne("ibv_attach_counters_point_flow");
  const { fields } = struct(attach, "attr");
  assertEquals([fields["counter_desc"], fields["index"], fields["comp_mask"]], [1, 1, 0]);
  using flow = new Flow(qp, { port: 1, specs: [{ type: ACTION_COUNT, counters }] });
  counters.attach({ counterDesc: CounterDescription.PACKETS, index: 0 }, flow);
  assertEquals(recorder.takeOne("ibv_attach_counters_point_flow").args["flow"], "flow0");
  assertEquals(counters.read(3, ReadCountersFlags.PREFER_CACHED).length, 3);
  const read = recorder.takeOne("ibv_read_counters");
  assertEquals([read.args["ncounters"], read.args["flags"]], [3, 1]);
});

on.test("Counters refuse what is wrong before native code is reached", ({ context }) => {
  using counters = new Counters(context);
  recorder.take();
  for (const count of [0, -1, 1.5, NaN, 2 ** 32]) {
    assertThrows(() => counters.read(count), Error, "count");
  }
  const attr = { counterDesc: 2 as 1, index: 0 };
  assertThrows(() => counters.attach(attr), RangeError, "counterDesc 2");
  const good = { counterDesc: CounterDescription.BYTES, index: 0 };
  assertThrows(() => counters.attach(good, {} as Flow), TypeError, "not a flow");
  assertEquals(recorder.take(), []);
});

on.test("FlowActionEsp sends the association, the key and the replay window", ({ context }) => {
  const aesKey = Uint8Array.from({ length: 32 }, (_, i) => i);
  using action = new FlowActionEsp(context, {
    espAttr: { spi: 7, seq: 8, flags: FlowActionEspFlags.ENCRYPT, hardLimitPkts: 2n ** 40n },
    keymat: { iv: 9n, salt: 10, icvLen: 16, aesKey },
    replaySize: 64,
    esn: 11,
  });
  const create = recorder.takeOne("ibv_create_flow_action_esp");
  const { comp_mask, esn, keymat_len, replay_len, replay_proto } = struct(create, "attr").fields;
  assertEquals([comp_mask, esn, keymat_len, replay_len, replay_proto], [1, 11, 56, 4, 1]);
  const { spi, seq, flags, hard_limit_pkts } = struct(create, "attr.esp_attr").fields;
  assertEquals([spi, seq, flags, hard_limit_pkts], [7, 8, 4, 2n ** 40n]);
  const { iv, salt, icv_len, key_len } = struct(create, "attr.keymat_ptr").fields;
  assertEquals([iv, salt, icv_len, key_len], [9n, 10, 16, 32]);
  assertEquals(hex(struct(create, "attr.keymat_ptr").bytes.subarray(24)), hex(aesKey));
  assertEquals(struct(create, "attr.replay_ptr").fields["size"], 64);
  action.modify({ esn: 12 });
  const modify = recorder.takeOne("ibv_modify_flow_action_esp");
  assertEquals(struct(modify, "attr").fields["esn"], 12);
});

Deno.test("FlowActionEsp refuses headers around packets that native code could not follow", () => {
  using setup = open();
  const keymat = { icvLen: 16, aesKey: new Uint8Array(16) };
  const udp = { type: UDP, val: {} };
  const make = (espEncap: unknown, flags = 0) => () =>
    new FlowActionEsp(setup.context, { keymat, espAttr: { flags }, espEncap: espEncap as never });
  const { TRANSPORT } = FlowActionEspFlags;
  assertThrows(make([udp], TRANSPORT), TypeError, "transport mode puts no headers");
  assertThrows(make(Array(9).fill(udp)), RangeError, "it has 9 headers of at most 8");
  assertThrows(make([{ type: ACTION_DROP, val: {} }]), RangeError, "it is no header");
  assertThrows(make([{ type: UDP }]), TypeError, "Cannot use port filter");
  assertThrows(make([{ ...udp, mask: {} }]), TypeError, "mask");
  assertThrows(
    make([{ type: IPV6, val: { srcIp: "10.0.0.1" } }]),
    TypeError,
    "not an IPv6 address",
  );
  for (const list of [null, 5, udp, [null]]) assertThrows(make(list), TypeError, "Cannot use");
  assertEquals(recorder.takeOf("ibv_create_flow_action_esp"), []);
  make([])();
  make(Array(8).fill(udp))();
  const [none, most] = recorder.takeOf("ibv_create_flow_action_esp");
  assertEquals(struct(none!, "attr").fields.esp_encap, null);
  assertEquals(struct(most!, "attr.esp_encap[7].val_ptr").bytes.length, 4);
});

on.test("FlowActionEsp refuses keys of other lengths and unknown attributes", ({ context }) => {
  const make = (attr: object) => () => new FlowActionEsp(context, attr);
  const keymat = { icvLen: 16, aesKey: new Uint8Array(15) };
  assertThrows(make({ keymat }), RangeError, "aesKey of 15 bytes");
  assertThrows(make({}), TypeError, "keymat is missing");
  assertThrows(make({ keymat: { ...keymat, key: 1 } }), TypeError, '"key"');
  assertThrows(make({ replaySize: -1 }), RangeError, "replaySize -1");
  assertEquals(recorder.takeOf("ibv_create_flow_action_esp"), []);
});

on.test("Counters.attach() takes no other object of the context for a flow", ({ context, qp }) => {
  const counters = new Counters(context);
  const attr = { counterDesc: CounterDescription.PACKETS, index: 0 };
  const flow = new Flow(qp, { port: 1 });
  recorder.take();
  const others = [qp.pd, qp, counters, new Proxy(flow, {})];
  for (const other of others as unknown as Flow[]) {
    assertThrows(() => counters.attach(attr, other), TypeError, "flow is not a flow");
  }
  assertEquals(recorder.takeOf("ibv_attach_counters_point_flow"), []);
  counters.attach(attr, flow);
});
