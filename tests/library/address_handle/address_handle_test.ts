// Address handles and link addresses, as a provider receives them, and against hostile input.
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { stub } from "@std/testing/mock";
import * as recorder from "../../provider/recorder.ts";
import {
  type AbortOptions,
  AddressHandle,
  type AhAttrInit,
  Gid,
  Grh,
  initAhFromWc,
  initAhFromWcAsync,
  LinkLayer,
  PortFlags,
  resolveEthL2FromGid,
  resolveEthL2FromGidAsync,
  VerbsError,
  type WcAddress,
  WcFlags,
} from "../../../mod.ts";
import { comparable } from "../../provider/records.ts";
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

onPd.test("AddressHandle.createAsync() gives the provider what the constructor does", async ({ pd }) => {
  using one = new AddressHandle(pd, GLOBAL);
  using other = await AddressHandle.createAsync(pd, GLOBAL);
  const [first, second] = comparable(recorder.takeOf("ibv_create_ah"));
  assertEquals({ ...second, result: "ah0" }, { ...first });
  assertEquals([one.pd, other.pd], [pd, pd]);
});

onPd.test("A GID may be a text, and one that is no address is named", ({ pd }) => {
  const addressOf = (dgid: Gid | string): AhAttrInit => ({
    portNum: 1,
    grh: { dgid, sgidIndex: 1 },
  });
  using _object = new AddressHandle(pd, addressOf(Gid.parse("10.0.0.2")));
  using _text = new AddressHandle(pd, addressOf("10.0.0.2"));
  const [first, second] = comparable(recorder.takeOf("ibv_create_ah"));
  assertEquals({ ...second, result: "ah0" }, { ...first });
  assertThrows(
    () => new AddressHandle(pd, addressOf("10.0.0")),
    SyntaxError,
    'Cannot use dgid "10.0.0": it is neither a Gid nor an IPv4 or IPv6 address',
  );
  assertThrows(
    () => new AddressHandle(pd, addressOf(new Uint8Array(16) as never)),
    TypeError,
    "Cannot use dgid a Uint8Array: it is not a Gid",
  );
  recorder.fail("ibv_create_ah", "ETIMEDOUT");
  const { hint } = assertThrows(() => new AddressHandle(pd, addressOf("fe80::2")), VerbsError);
  assertStringIncludes(hint!, "fe80::2");
});

/** The forms that take a protection domain or a context, with good arguments but for what is replaced. */
const ASYNC: Record<string, (recorded: Recorded, options: AbortOptions) => Promise<unknown>> = {
  "AddressHandle.createAsync()": ({ pd }, options) => AddressHandle.createAsync(pd, LID, options),
  "AddressHandle.fromWcAsync()": ({ pd }, options) => AddressHandle.fromWcAsync(pd, 1, WC, options),
  "initAhFromWcAsync()": ({ context }, options) => initAhFromWcAsync(context, 1, WC, options),
};

for (const [name, call] of Object.entries(ASYNC)) {
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

const ETHERNET = { link_layer: LinkLayer.ETHERNET };
const INFINIBAND = { link_layer: LinkLayer.INFINIBAND, flags: 0 };
const REQUIRED = { ...INFINIBAND, flags: PortFlags.GRH_REQUIRED };
const PORTS: [string, Record<string, number>, string | undefined][] = [
  ["an Ethernet port", ETHERNET, "Port 1 is Ethernet (RoCE), where every address needs a GRH"],
  ["a port that requires a GRH", REQUIRED, "Port 1 needs a GRH in every address"],
  ["an InfiniBand port", INFINIBAND, undefined],
];
for (const [what, port, cause] of PORTS) {
  onPd.test(`AddressHandle names a missing GRH as the cause, or does not, on ${what}`, async (recorded) => {
    const { pd } = recorded;
    recorder.answer("ibv_query_port", port);
    recorder.fail("ibv_create_ah", "EINVAL");
    recorder.fail("ibv_create_ah_from_wc", "EINVAL");
    const errors = [
      assertThrows(() => new AddressHandle(pd, LID), VerbsError),
      await assertRejects(() => AddressHandle.createAsync(pd, LID), VerbsError),
      assertThrows(() => AddressHandle.fromWc(pd, 1, WC), VerbsError),
      await assertRejects(() => AddressHandle.fromWcAsync(pd, 1, WC), VerbsError),
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
    await assertRejects(() => AddressHandle.fromWcAsync(pd, 1, wc), VerbsError),
  ];
  for (const { hint } of errors) assertStringIncludes(hint!, "and grh was left out");
  for (
    const [first, hint] of [
      [0, "neither an IPv6 nor an IPv4 header"],
      [0x60, "The next header 6 of the GRH is neither UDP (17) nor"],
    ] as const
  ) {
    const grh = new Grh(new Uint8Array(40).fill(first, 0, 1).fill(6, 6, 7));
    const error = assertThrows(() => initAhFromWc(context, 1, wc, grh), VerbsError);
    assertStringIncludes(error.hint!, hint);
  }
});

onPd.test("AddressHandle.createAsync() destroys a handle that comes after its signal aborted", async (recorded) => {
  const { pd } = recorded;
  const create = nonblocking().ibv_create_ah;
  const { promise: hold, resolve: go } = Promise.withResolvers<void>();
  using _held = stub(nonblocking(), "ibv_create_ah", async (...args) => {
    await hold;
    return await create(...args);
  });
  const controller = new AbortController();
  const call = AddressHandle.createAsync(pd, LID, { signal: controller.signal });
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

onPd.test("AddressHandle.createAsync() destroys nothing if no handle comes after its signal aborted", async (recorded) => {
  const { promise: hold, resolve: go } = Promise.withResolvers<void>();
  using _held = stub(nonblocking(), "ibv_create_ah", async () => {
    await hold;
    return { value: null, errno: 12 };
  });
  const controller = new AbortController();
  const call = AddressHandle.createAsync(recorded.pd, LID, { signal: controller.signal });
  controller.abort();
  await assertRejects(() => call, DOMException, "aborted");
  go();
  await new Promise((resolve) => setTimeout(resolve, 1));
  assertEquals(recorder.take(), []);
});

onPd.test("resolveEthL2FromGid() gives the link address and no VLAN", async ({ context }) => {
  for (const resolve of [resolveEthL2FromGid, resolveEthL2FromGidAsync]) {
    const { ethMac, vid } = await resolve(context, GLOBAL);
    assertEquals([ethMac.toHex(), vid], ["020000000007", undefined]);
    const { args } = recorder.takeOne("ibv_resolve_eth_l2_from_gid");
    assertEquals(args.context, "context0");
  }
});

for (const result of [-22n, -1n]) {
  onPd.test(`resolveEthL2FromGid() reads an error that is returned as ${result}`, async (recorded) => {
    const { context } = recorded;
    recorder.fail("ibv_resolve_eth_l2_from_gid", "EINVAL", { result });
    const errors = [
      assertThrows(() => resolveEthL2FromGid(context, GLOBAL), VerbsError),
      await assertRejects(() => resolveEthL2FromGidAsync(context, GLOBAL), VerbsError),
    ];
    for (const { verb, code } of errors) {
      assertEquals([verb, code], ["ibv_resolve_eth_l2_from_gid", "EINVAL"]);
    }
  });
}

onPd.test("AddressHandle names an index beyond the table, and families only of peers", (parts) => {
  const { pd, context } = parts;
  recorder.fail("ibv_create_ah", "EINVAL");
  const { gidTblLen } = context.queryPort(1);
  const hintOf = (dgid: string, sgidIndex: number): string | undefined => {
    const grh = { dgid: Gid.parse(dgid), sgidIndex };
    return assertThrows(() => new AddressHandle(pd, { portNum: 1, grh }), VerbsError).hint;
  };
  assertStringIncludes(
    hintOf("fe80::1", gidTblLen)!,
    `GID index ${gidTblLen} is beyond the port's table of ${gidTblLen}`,
  );
  recorder.answerBytes("ibv_query_gid", Gid.parse("10.0.0.1").bytes);
  assertStringIncludes(hintOf("fd00::1", 0)!, "The GIDs are of different families");
  assertEquals(hintOf("10.0.0.2", 0), undefined);
  assertEquals(hintOf("ff0e::1", 0), undefined);
});
