// Address handles, as a provider receives them, and against hostile input.
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { assertSpyCalls, stub } from "@std/testing/mock";
import * as recorder from "../../provider/recorder.ts";
import {
  type AbortOptions,
  AddressHandle,
  type AhAttrInit,
  type Context,
  Gid,
  Grh,
  initAhFromWc,
  initAhFromWcAsync,
  LinkLayer,
  PortFlags,
  type ProtectionDomain,
  VerbsError,
  type WcAddress,
  WcFlags,
} from "../../../mod.ts";
import { nonblocking } from "../../../ffi/library.ts";
import { onPd, type Recorded } from "../recorded.ts";

const LID: AhAttrInit = { portNum: 1, dlid: 3 };
const GLOBAL: AhAttrInit = {
  portNum: 1,
  grh: {
    dgid: Gid.parse("fd00::9"),
    sgidIndex: 1,
    flowLabel: 0xabcde,
    hopLimit: 7,
    trafficClass: 9,
  },
  dlid: 0x1234,
  sl: 5,
  srcPathBits: 6,
  staticRate: 2,
};
const WC: WcAddress = { wcFlags: 0, slid: 5, sl: 1, dlidPathBits: 2 };

onPd.test("AddressHandle gives the provider every attribute of an address", async ({ pd }) => {
  for (
    const make of [() => new AddressHandle(pd, GLOBAL), () => AddressHandle.create(pd, GLOBAL)]
  ) {
    using ah = await make();
    const { args } = recorder.takeOne("ibv_create_ah");
    assertEquals(args.pd, "pd0");
    const { fields } = args.attr as { fields: Record<string, unknown> };
    const { dlid, sl, src_path_bits, static_rate, is_global, port_num } = fields;
    assertEquals(
      [dlid, sl, src_path_bits, static_rate, is_global, port_num].map(Number),
      [0x1234, 5, 6, 2, 1, 1],
    );
    const { "grh.flow_label": flow, "grh.sgid_index": index } = fields;
    const { "grh.hop_limit": hops, "grh.traffic_class": trafficClass } = fields;
    assertEquals([flow, index, hops, trafficClass].map(Number), [0xabcde, 1, 7, 9]);
    assertEquals(ah.pd, pd);
  }
});

/** The forms that take a protection domain or a context, with good arguments but for what is replaced. */
const ASYNC: Record<string, (recorded: Recorded, options: AbortOptions) => Promise<unknown>> = {
  "AddressHandle.create()": ({ pd }, options) => AddressHandle.create(pd, LID, options),
  "AddressHandle.createFromWc()": ({ pd }, options) =>
    AddressHandle.createFromWc(pd, 1, WC, undefined, options),
  "initAhFromWcAsync()": ({ context }, options) =>
    initAhFromWcAsync(context, 1, WC, undefined, options),
};

const BAD_OPTIONS: [string, unknown, string][] = [
  ["a signal that is a controller", { signal: new AbortController() }, "it is not an AbortSignal"],
  ["a signal that is null", { signal: null }, "it is not an AbortSignal"],
  ["options that are null", null, "Cannot use options null"],
  ["unknown options", { timeout: 5 }, 'there is no attribute "timeout"'],
];

for (const [name, call] of Object.entries(ASYNC)) {
  for (const [what, options, message] of BAD_OPTIONS) {
    onPd.test(`${name} rejects ${what} before work starts`, async (recorded) => {
      await assertRejects(() => call(recorded, options as AbortOptions), TypeError, message);
      assertEquals(recorder.take(), []);
      recorded.context.close();
      assertEquals(recorder.live(), 0);
    });
  }

  onPd.test(`${name} rejects with the reason of a signal that has aborted, and calls nothing`, async (recorded) => {
    const reason = new Error("not wanted");
    const error = await assertRejects(() => call(recorded, { signal: AbortSignal.abort(reason) }));
    assert(error === reason);
    assertEquals(recorder.take(), []);
  });

  onPd.test(`${name} rejects, and does not throw, when its objects are disposed`, async (recorded) => {
    recorded.context.close();
    await assertRejects(() => call(recorded, {}), TypeError, "it is disposed");
  });
}

onPd.test("AddressHandle reads each attribute once, before it takes the native handle", (recorded) => {
  const { pd } = recorded;
  let reads = 0;
  const attr = {
    get portNum(): number {
      reads++;
      pd.close();
      return 1;
    },
    dlid: 3,
  };
  assertThrows(() => new AddressHandle(pd, attr), TypeError, "it is disposed");
  assertEquals(reads, 1);
  assertEquals(recorder.takeOf("ibv_create_ah"), []);
});

const HOSTILE: Record<string, (recorded: Recorded, wc: WcAddress) => unknown> = {
  "AddressHandle.fromWc()": ({ pd }, wc) => AddressHandle.fromWc(pd, 1, wc),
  "initAhFromWc()": ({ context }, wc) => initAhFromWc(context, 1, wc),
  "AddressHandle.createFromWc()": ({ pd }, wc) => AddressHandle.createFromWc(pd, 1, wc),
  "initAhFromWcAsync()": ({ context }, wc) => initAhFromWcAsync(context, 1, wc),
};

for (const [name, call] of Object.entries(HOSTILE)) {
  onPd.test(`${name} reads each attribute of a completion once, before native handles`, async (recorded) => {
    let reads = 0;
    const wc = {
      ...WC,
      get slid(): number {
        reads++;
        recorded.context.close();
        return 5;
      },
    };
    await assertRejects(async () => await call(recorded, wc), TypeError, "it is disposed");
    assertEquals(reads, 1);
    assertEquals(recorder.takeOf("ibv_create_ah_from_wc", "ibv_init_ah_from_wc"), []);
  });

  const bad: [string, number][] = [
    ["slid", 65537],
    ["slid", -1],
    ["sl", 256],
    ["dlidPathBits", 256],
    ["wcFlags", 2 ** 32],
  ];
  for (const [attribute, value] of bad) {
    onPd.test(`${name} refuses a completion whose ${attribute} is ${value}`, async (recorded) => {
      const wc = { ...WC, [attribute]: value };
      await assertRejects(async () => await call(recorded, wc), RangeError, attribute);
    });
  }

  onPd.test(`${name} refuses what is no completion`, async (recorded) => {
    for (const wc of [null, undefined, 5, {}, { ...WC, slid: "5" }, { ...WC, sl: 1.5 }]) {
      const attempt = async (): Promise<unknown> => await call(recorded, wc as WcAddress);
      await assertRejects(attempt, TypeError, "Cannot use");
    }
  });
}

onPd.test("AddressHandle refuses another object as its protection domain", async (recorded) => {
  for (const pd of [null, undefined, {}, recorded.context] as unknown as ProtectionDomain[]) {
    const message = "it is not a ProtectionDomain";
    assertThrows(() => new AddressHandle(pd, LID), TypeError, message);
    assertThrows(() => AddressHandle.fromWc(pd, 1, WC), TypeError, message);
    await assertRejects(() => AddressHandle.create(pd, LID), TypeError, message);
    await assertRejects(() => AddressHandle.createFromWc(pd, 1, WC), TypeError, message);
  }
  for (const context of [null, {}, recorded.pd] as unknown as Context[]) {
    assertThrows(() => initAhFromWc(context, 1, WC), TypeError, "it is not a Context");
    await assertRejects(() => initAhFromWcAsync(context, 1, WC), TypeError, "not a Context");
  }
});

onPd.test("AddressHandle.create() runs 8 calls at a time, in order, and drops those that abort", async (recorded) => {
  const { pd } = recorded;
  const calls: ((value: { value: null; errno: number }) => void)[] = [];
  using started = stub(
    nonblocking(),
    "ibv_create_ah",
    () => new Promise((resolve) => calls.push(resolve)),
  );
  const controller = new AbortController();
  const settled: string[] = [];
  const ask = (name: string, signal?: AbortSignal): Promise<void> =>
    AddressHandle.create(pd, LID, { signal }).then(
      () => {},
      ({ name: error }) => void settled.push(`${name} ${error}`),
    );
  const all = [
    ...Array.from({ length: 9 }, (_, i) => ask(String(i))),
    ask("dropped", controller.signal),
    ask("last"),
  ];
  await Promise.resolve();
  assertSpyCalls(started, 8);
  controller.abort();
  await all[9];
  assertEquals(settled, ["dropped AbortError"]);
  assertSpyCalls(started, 8);
  for (let i = 0; i < 10; i++) {
    calls[i]!({ value: null, errno: 110 });
    await all[i === 9 ? 10 : i];
  }
  assertSpyCalls(started, 10);
  assertEquals(settled.at(-1), "last VerbsError");
});

onPd.test("AddressHandle.create() fails as the constructor does", async ({ pd }) => {
  for (const code of ["EINVAL", "ENODATA", "ETIMEDOUT", "EOPNOTSUPP", "ENOMEM"] as const) {
    for (const attr of [LID, GLOBAL]) {
      recorder.fail("ibv_create_ah", code);
      const error = assertThrows(() => new AddressHandle(pd, attr), VerbsError);
      const late = await assertRejects(() => AddressHandle.create(pd, attr), VerbsError);
      assertEquals([late.code, late.message], [code, error.message]);
      assertEquals(late.hint, error.hint);
    }
  }
});

const PORTS: [string, Record<string, number>, string | undefined][] = [
  [
    "an Ethernet port",
    { link_layer: LinkLayer.ETHERNET },
    "Port 1 is Ethernet (RoCE), where every address needs a GRH",
  ],
  [
    "an InfiniBand port that requires a GRH",
    { link_layer: LinkLayer.INFINIBAND, flags: PortFlags.GRH_REQUIRED },
    "Port 1 needs a GRH in every address (IBV_QPF_GRH_REQUIRED)",
  ],
  ["an InfiniBand port", { link_layer: LinkLayer.INFINIBAND, flags: 0 }, undefined],
];
for (const [what, port, cause] of PORTS) {
  onPd.test(`AddressHandle names a missing GRH as the cause, or does not, on ${what}`, async (recorded) => {
    const { pd } = recorded;
    recorder.answer("ibv_query_port", port);
    recorder.fail("ibv_create_ah", "EINVAL");
    recorder.fail("ibv_create_ah_from_wc", "EINVAL");
    const errors = [
      assertThrows(() => new AddressHandle(pd, LID), VerbsError),
      await assertRejects(() => AddressHandle.create(pd, LID), VerbsError),
      assertThrows(() => AddressHandle.fromWc(pd, 1, WC), VerbsError),
      await assertRejects(() => AddressHandle.createFromWc(pd, 1, WC), VerbsError),
    ];
    for (const { hint } of errors) {
      if (cause === undefined) assertEquals(hint, undefined);
      else assertStringIncludes(hint!, cause);
    }
  });
}

onPd.test("initAhFromWc() names a GRH that was left out as the cause", async ({ context, pd }) => {
  const wc = { ...WC, wcFlags: WcFlags.GRH };
  for (const verb of ["ibv_init_ah_from_wc", "ibv_create_ah_from_wc"]) {
    recorder.fail(verb, "EPROTONOSUPPORT");
  }
  const errors = [
    assertThrows(() => initAhFromWc(context, 1, wc), VerbsError),
    await assertRejects(() => initAhFromWcAsync(context, 1, wc), VerbsError),
    assertThrows(() => AddressHandle.fromWc(pd, 1, wc), VerbsError),
    await assertRejects(() => AddressHandle.createFromWc(pd, 1, wc), VerbsError),
  ];
  for (const { hint } of errors) assertStringIncludes(hint!, "and grh was left out");
  const error = assertThrows(
    () => initAhFromWc(context, 1, wc, new Grh(new Uint8Array(40))),
    VerbsError,
  );
  assertStringIncludes(error.hint!, "neither an IPv6 nor an IPv4 header");
});

onPd.test("AddressHandle.create() destroys a handle that comes after its signal aborted", async (recorded) => {
  const { pd } = recorded;
  const create = nonblocking().ibv_create_ah;
  const { promise: hold, resolve: go } = Promise.withResolvers<void>();
  using _held = stub(nonblocking(), "ibv_create_ah", async (...args) => {
    await hold;
    return await create(...args);
  });
  const controller = new AbortController();
  const call = AddressHandle.create(pd, LID, { signal: controller.signal });
  controller.abort();
  await assertRejects(() => call, DOMException, "aborted");
  go();
  const calls: string[] = [];
  while (!calls.includes("ibv_destroy_ah")) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    calls.push(...recorder.take().map(({ verb }) => verb));
  }
  assertEquals(calls, ["ibv_create_ah", "ibv_destroy_ah"]);
});
