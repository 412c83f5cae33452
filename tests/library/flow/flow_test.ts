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
  type FlowSpec,
  FlowSpecType,
  ProtectionDomain,
  QpType,
  QueuePair,
  ReadCountersFlags,
  VerbsError,
} from "../../../mod.ts";
import { openWithQp, testsOn } from "../recorded.ts";

const open = (): ReturnType<typeof openWithQp> => openWithQp(QpType.RAW_PACKET);
const on = testsOn(open);

function struct(call: Call, name: string): RecordedStruct {
  return call.args[name] as RecordedStruct;
}

const { ETH, IPV4, IPV6, UDP } = FlowSpecType;
const { ACTION_DROP, ACTION_HANDLE, ACTION_COUNT } = FlowSpecType;

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
  recorder.take();
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

on.test("FlowActionEsp refuses headers around packets that native code could not follow", (parts) => {
  const { context } = parts;
  const keymat = { icvLen: 16, aesKey: new Uint8Array(16) };
  const udp = { type: UDP, val: {} };
  const make = (espEncap: unknown, flags = 0) => () =>
    new FlowActionEsp(context, { keymat, espAttr: { flags }, espEncap: espEncap as never });
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
