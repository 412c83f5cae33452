// Flow steering, flow actions and counters, as a provider receives them.
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import type { Call, RecordedStruct } from "../../provider/records.ts";
import {
  CounterDescription,
  Counters,
  Flow,
  FlowActionEsp,
  FlowActionEspFlags,
  type FlowSpec,
  FlowSpecType,
  QpType,
  VerbsError,
} from "../../../mod.ts";
import { structs } from "../../../ffi/layout.ts";
import { testsWith } from "../recorded.ts";
import { assertRefused, bad, type Refusal } from "../refusals.ts";

const on = testsWith((fixture) => ({ qp: fixture.qp(QpType.RAW_PACKET) }));

function struct(call: Call, name: string): RecordedStruct {
  return call.args[name] as RecordedStruct;
}

const { ETH, IPV4, IPV6, TCP, UDP } = FlowSpecType;
const { ACTION_DROP, ACTION_HANDLE, ACTION_COUNT, ACTION_TAG } = FlowSpecType;

on.test("Flow keeps its action and its counters, and goes before them", ({ context, qp }) => {
  const keymat = { icvLen: 16, aesKey: new Uint8Array(16) };
  using action = new FlowActionEsp(context, { keymat });
  const [made] = recorder.takeOf("ibv_create_flow_action_esp");
  const { keymat_len, replay_len } = struct(made!, "attr").fields;
  const { size } = structs.ibv_flow_action_esp_keymat_aes_gcm;
  assertEquals([keymat_len, replay_len], [size, 0]);
  assertEquals(struct(made!, "attr.keymat_ptr").fields["key_len"], 16);
  using counters = new Counters(context);
  counters.attach({ counterDesc: CounterDescription.BYTES, index: 1 });
  assertEquals(recorder.takeOne("ibv_attach_counters_point_flow").args["flow"], null);
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

on.test("Flow names the header that has no such field", ({ qp }) => {
  const specs = [{ type: TCP, val: { dport: 1 }, mask: {} }] as unknown as FlowSpec[];
  assertRefused([() => new Flow(qp, { port: 1, specs }), TypeError, "port filter"]);
});

on.test("Flow refuses specifications that do not go together", ({ qp }) => {
  const make = (...specs: unknown[]) => () => new Flow(qp, { port: 1, specs: specs as FlowSpec[] });
  assertRefused(
    [make({ type: 5 }), RangeError, "spec type 5"],
    [make({ type: UDP, val: {} }), TypeError, "type UDP: mask is missing"],
    [make({ type: ETH, val: { dstMac: "2:3" }, mask: {} }), TypeError, "not a MAC address"],
    [
      make({ type: ETH, val: { dstMac: bad(["2:0:0:0:0:1"]) }, mask: {} }),
      TypeError,
      "not a MAC address",
    ],
    [make({ type: IPV4, val: { srcIp: "::1" }, mask: {} }), TypeError, "not an IPv4 address"],
    [make({ type: IPV4, val: { srcIp: "x" }, mask: {} }), SyntaxError, "x"],
    [make(...Array(256).fill({ type: ACTION_DROP })), RangeError, "256 specifications"],
    [() => new Flow(qp, { port: 9 }), RangeError, "port 9"],
  );
  const most = { port: 1, specs: Array(255).fill({ type: ACTION_DROP }) };
  new Flow(qp, most).close();
});

on.test("Flow refuses what belongs to another type of specification", ({ context, qp }) => {
  using action = new FlowActionEsp(context, { keymat: { icvLen: 16, aesKey: new Uint8Array(16) } });
  using counters = new Counters(context);
  const all = { val: {}, mask: {}, inner: true, tagId: 1, action, counters };
  const own: [FlowSpecType, (keyof typeof all)[]][] = [
    [UDP, ["val", "mask", "inner"]],
    [ACTION_TAG, ["tagId"]],
    [ACTION_DROP, []],
    [ACTION_HANDLE, ["action"]],
    [ACTION_COUNT, ["counters"]],
  ];
  for (const [type, names] of own) {
    const right = Object.fromEntries(names.map((name) => [name, all[name]]));
    for (const [stray, value] of Object.entries(all)) {
      if (stray in right) continue;
      const spec = { type, ...right, [stray]: value } as FlowSpec;
      const make = (): Flow => new Flow(qp, { port: 1, specs: [spec] });
      assertRefused([make, TypeError, `there is no attribute "${stray}"`]);
    }
  }
});

on.test("Counters refuse numbers and points that there are not", ({ context }) => {
  using counters = new Counters(context);
  const attach = (flow: unknown) => () =>
    counters.attach({ counterDesc: CounterDescription.BYTES, index: 0 }, flow as Flow);
  assertRefused(
    [() => counters.read(0), RangeError, "count"],
    [() => counters.attach({ counterDesc: 2 as 1, index: 0 }), RangeError, "counterDesc 2"],
    [attach(context), TypeError, "not a flow of the same context"],
    [attach(counters), TypeError, "not a flow of the same context"],
    [attach(Object.create(Flow.prototype)), TypeError, "not a flow of the same context"],
  );
});

on.test("FlowActionEsp refuses headers that native code could not follow", ({ context }) => {
  const keymat = { icvLen: 16, aesKey: new Uint8Array(16) };
  const udp = { type: UDP, val: {} };
  const make = (espEncap: unknown[], flags = 0) => () =>
    new FlowActionEsp(context, { keymat, espAttr: { flags }, espEncap: espEncap as never });
  const { TRANSPORT } = FlowActionEspFlags;
  assertRefused(
    [make([udp], TRANSPORT), TypeError, "transport mode puts no headers"],
    [make(Array(9).fill(udp)), RangeError, "it has 9 headers of at most 8"],
    [make([{ type: ACTION_DROP, val: {} }]), RangeError, "it is no header"],
    [make([{ ...udp, mask: {} }]), TypeError, "mask"],
    [make([{ type: IPV6, val: { srcIp: "10.0.0.1" } }]), TypeError, "not an IPv6 address"],
  );
  make([])();
  make(Array(8).fill(udp))();
  const [none, most] = recorder.takeOf("ibv_create_flow_action_esp");
  assertEquals(struct(none!, "attr").fields.esp_encap, null);
  assertEquals(struct(most!, "attr.esp_encap[7].val_ptr").bytes.length, 4);
});

on.test("FlowActionEsp refuses keys of other lengths", ({ context }) => {
  const make = (): unknown =>
    new FlowActionEsp(context, { keymat: { icvLen: 16, aesKey: new Uint8Array(15) } });
  assertRefused([make, RangeError, "aesKey of 15 bytes"]);
});

on.test("FlowActionEsp refuses the fields that follow from its attributes", ({ context }) => {
  const keymat = { icvLen: 16, aesKey: new Uint8Array(16) };
  const names = ["keymatLen", "keymatProto", "replay", "replayLen", "replayProto", "encap"];
  assertRefused(...names.map((name): Refusal => [
    () => new FlowActionEsp(context, { keymat, ...{ [name]: 1 } }),
    TypeError,
    `there is no attribute "${name}"`,
  ]));
});

for (
  const [type, code, hint] of [
    [QpType.RAW_PACKET, "EINVAL", "The device does not take this rule"],
    [QpType.UD, "EINVAL", "The device does not take this rule"],
    [QpType.RC, "EINVAL", "queue pairs of type UD and RAW_PACKET, and this one is RC"],
    [QpType.UD, "EEXIST", "A rule for the same packets has another tag"],
    [QpType.UD, "ENOSPC", "no room for a further rule"],
    [QpType.UD, "ENOMEM", "no room for a further rule"],
  ] as const
) {
  testsWith((fixture) => ({ qp: fixture.qp(type) })).test(
    `Flow says why there is none: ${code} for queue pair type ${type}`,
    ({ qp }) => {
      recorder.fail("ibv_create_flow", code);
      const error = assertThrows(() => new Flow(qp, { port: 1 }), VerbsError);
      assertStringIncludes(error.hint!, hint);
    },
  );
}
