// Reply paths on a provider that records: events, limits, the lifetime of handles, and hostile input.
import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { assertSpyCalls, type Stub, stub } from "@std/testing/mock";
import * as recorder from "../../provider/recorder.ts";
import {
  AccessFlags,
  MemoryRegion,
  type ProtectionDomain,
  ReplyPath,
  type ReplyPathInit,
  VerbsError,
  type WcAddress,
  WorkCompletionList,
} from "../../../mod.ts";
import { enums } from "../../../ffi/layout.ts";
import { nonblocking } from "../../../ffi/library.ts";
import { openRecorder, partsOf, type Recorded, testsOn } from "../recorded.ts";
import { assertRefused } from "../refusals.ts";

const {
  IBV_EVENT_LID_CHANGE: LID_CHANGE,
  IBV_EVENT_SM_CHANGE: SM_CHANGE,
  IBV_EVENT_GID_CHANGE: GID_CHANGE,
  IBV_EVENT_PORT_ERR: PORT_ERR,
  IBV_EVENT_PORT_ACTIVE: PORT_ACTIVE,
  IBV_EVENT_CLIENT_REREGISTER: CLIENT_REREGISTER,
  IBV_EVENT_PKEY_CHANGE: PKEY_CHANGE,
  IBV_EVENT_DEVICE_FATAL: DEVICE_FATAL,
} = enums.ibv_event_type;

/** A packet from a peer on InfiniBand, which is known by its LID. */
function from(slid: number): WcAddress {
  return { wcFlags: 0, slid, sl: 0, dlidPathBits: 0 };
}

interface Paths extends Recorded {
  readonly path: ReplyPath;
}

function openPath(init: Partial<ReplyPathInit> = {}): Paths {
  const recorded = partsOf(openRecorder());
  return { ...recorded, path: new ReplyPath(recorded.pd, { portNum: 1, ...init }) };
}

const on = testsOn(openPath);

const EVENTS: [string, number, boolean][] = [
  ["a change of the GID table", GID_CHANGE, true],
  ["a change of its LID", LID_CHANGE, true],
  ["another subnet manager", SM_CHANGE, true],
  ["a subnet manager that asks to register again", CLIENT_REREGISTER, true],
  ["the loss of its link", PORT_ERR, true],
  ["the return of its link", PORT_ACTIVE, true],
  ["a change of the P_Key table", PKEY_CHANGE, false],
];
for (const [what, event, forgets] of EVENTS) {
  on.test(`ReplyPath ${forgets ? "makes new handles" : "keeps its handles"} after ${what}`, ({ path }) => {
    const ah = path.to(from(7));
    recorder.sendAsyncEvent(event, 2);
    assertStrictEquals(path.to(from(7)), ah, "another port");
    recorder.sendAsyncEvent(event, 1);
    assertEquals(path.to(from(7)) !== ah, forgets);
    assertEquals([path.size, recorder.unacknowledged()], [1, 0]);
  });
}

on.test("ReplyPath makes new handles after a failure of the device", ({ path }) => {
  const ah = path.to(from(7));
  recorder.sendAsyncEvent(DEVICE_FATAL, 0);
  assert(path.to(from(7)) !== ah);
});

Deno.test("ReplyPath closes handles of a change without any new peer", () => {
  using recorded = openPath({ maxPeers: 4 });
  const { path } = recorded;
  const handles = [path.to(from(1)), path.to(from(2))];
  path.invalidate();
  for (let i = 0; i < 10; i++) path.to(from(1));
  assertEquals(handles.map(({ disposed }) => disposed), [true, true]);
  assertEquals(recorder.live("ah"), 1);
});

/** Memory and completions as of a poll. */
function received(pd: ProtectionDomain): { mr: MemoryRegion; batch: WorkCompletionList } {
  return {
    mr: new MemoryRegion(pd, 4096, AccessFlags.LOCAL_WRITE),
    batch: new WorkCompletionList(4),
  };
}

on.test("ReplyPath gives and keeps the handle of an address, and that of its packets is the same", async ({ path }) => {
  const address = { portNum: 1, dlid: 5 };
  const ah = path.toAddress(address);
  assertStrictEquals(path.to(from(5)), ah);
  assertStrictEquals(await path.toAddressAsync(address), ah);
  assert(await path.toAddressAsync({ ...address, sl: 1 }) !== ah);
  assertEquals(path.size, 2);
  recorder.sendAsyncEvent(LID_CHANGE, 1);
  assert(path.toAddress(address) !== ah);
  const elsewhere = { ...address, portNum: 2 };
  assertThrows(() => path.toAddress(elsewhere), RangeError, "portNum 2");
  await assertRejects(() => path.toAddressAsync(elsewhere), RangeError, "portNum 2");
});

on.test("ReplyPath closes all handles of a change that it can close", ({ pd }) => {
  using path = new ReplyPath(pd, { portNum: 1, maxPeers: 2 });
  for (const peer of [1, 2]) path.to(from(peer));
  path.invalidate();
  const ah = path.to(from(3));
  path.to(from(3));
  recorder.fail("ibv_destroy_ah", "EBUSY", { times: 1 });
  assertThrows(() => path.to(from(3)), VerbsError, "EBUSY");
  assertEquals(recorder.live("ah"), 2);
  assertStrictEquals(path.to(from(3)), ah);
});

on.test("ReplyPath reads a GRH at its offset in a region or a slice, and nowhere else", (recorded) => {
  const { path, pd } = recorded;
  const { mr, batch } = received(pd);
  const slice = mr.sge(1000, 100);
  mr.sge(1060, 4).bytes.set([0x60, 0x0a, 0xbc, 0xde]);
  const attr = new DataView(new ArrayBuffer(32));
  const flowLabel = (memory: typeof slice | MemoryRegion, offset: number): number => {
    path.writeAttr(attr, batch, 0, memory, offset);
    return attr.getUint32(16, true);
  };
  const short = new DataView(new ArrayBuffer(31));
  assertThrows(() => path.writeAttr(short, batch, 0, mr, 0), RangeError, "attr has 31 bytes");
  assertEquals([flowLabel(mr, 1060), flowLabel(slice, 60), flowLabel(mr, 60)], [
    0xabcde,
    0xabcde,
    0,
  ]);
  for (const offset of [61, 100, -1, 2 ** 53 - 1]) {
    assertThrows(() => path.toAt(batch, 0, slice, offset), RangeError);
  }
  path.toAt(batch, 0, mr, 4056);
  assertThrows(() => path.toAt(batch, 0, mr, 4057), RangeError, "the memory has 4096 bytes");
  assertThrows(() => path.toAt(batch, 0, mr.sge(0, 39), 0), RangeError, "has 39 bytes");
  for (const offset of [0.5, NaN, "0", null, undefined]) {
    assertThrows(() => path.toAt(batch, 0, mr, offset as number), TypeError, "not an integer");
  }
});

on.test("ReplyPath.to() refuses a service level of more than 4 bits", ({ path }) => {
  assertThrows(() => path.to({ ...from(1), sl: 16 }), RangeError, "sl 16");
  assertEquals([recorder.live("ah"), path.size], [0, 0]);
  path.to({ ...from(1), sl: 15 });
});

on.test("ReplyPath.to() says which address the device refused, and does not remember it", (recorded) => {
  const { path } = recorded;
  recorder.fail("ibv_create_ah", "ETIMEDOUT", { times: 1 });
  const error = assertThrows(() => path.to(from(0x17)), VerbsError);
  assertEquals([error.verb, error.code], ["ibv_create_ah", "ETIMEDOUT"]);
  assertStringIncludes(error.message, "Cannot create address handle (port 1");
  assertEquals(path.size, 0);
  assertEquals(path.to(from(0x17)).disposed, false);
});

on.test("ReplyPath refuses a completion that the batch has no room for", ({ path, pd }) => {
  const { mr, batch } = received(pd);
  const answer = (index: number) => () => path.toAt(batch, index, mr, 0);
  const message = "the batch has room for 4";
  assertRefused(
    [answer(4), RangeError, message],
    [answer(2 ** 32), RangeError, message],
    [answer("0" as never), TypeError, "not an integer"],
    [answer(0.5), TypeError, "not an integer"],
  );
});

/** Native calls that end when the test says so. */
function held(): Stub & { end(index: number): void } {
  const create = nonblocking().ibv_create_ah;
  const ends: (() => void)[] = [];
  const calls = stub(nonblocking(), "ibv_create_ah", async (...args) => {
    await new Promise<void>((resolve) => ends.push(resolve));
    return await create(...args);
  });
  return Object.assign(calls as Stub, { end: (index: number) => ends[index]!() });
}

Deno.test("ReplyPath.toAsync() rejects with EAGAIN when maxPending other peers are unresolved", async () => {
  using recorded = openPath({ maxPending: 3 });
  const { path } = recorded;
  using calls = held();
  const asked = [1, 2, 3].map((peer) => path.toAsync(from(peer)));
  const error = await assertRejects(() => path.toAsync(from(4)), VerbsError);
  assertEquals([error.verb, error.code], ["ibv_create_ah", "EAGAIN"]);
  assertStringIncludes(error.hint!, "3 other peers");
  const again = path.toAsync(from(3));
  assertSpyCalls(calls, 3);
  calls.end(0);
  await asked[0];
  const fourth = path.toAsync(from(4));
  for (const call of [1, 2, 3]) calls.end(call);
  assertStrictEquals(await again, await asked[2]);
  await Promise.all([...asked, fourth]);
  assertEquals(path.size, 4);
});

on.test("ReplyPath.toAsync() drops a call that nobody waits for any more", async ({ path }) => {
  using calls = held();
  const running = Array.from({ length: 3 }, (_, peer) => path.toAsync(from(peer)));
  const first = new AbortController();
  const second = new AbortController();
  const queued = [first, second].map(({ signal }) => path.toAsync(from(9), { signal }));
  first.abort();
  await assertRejects(() => queued[0]!, DOMException);
  second.abort();
  await assertRejects(() => queued[1]!, DOMException);
  const late = path.toAsync(from(10));
  for (let call = 0; call < 3; call++) calls.end(call);
  await Promise.all(running);
  assertSpyCalls(calls, 4);
  calls.end(3);
  assertEquals((await late).disposed, false);
  assertEquals(path.size, 4);
});

on.test("ReplyPath.toAsync() asks again for a peer that others have given up", async ({ path }) => {
  using calls = held();
  const controller = new AbortController();
  const { signal } = controller;
  const given = path.toAsync(from(1), { signal });
  controller.abort();
  await assertRejects(() => given, DOMException);
  const again = path.toAsync(from(1));
  assertSpyCalls(calls, 2);
  calls.end(0);
  calls.end(1);
  assertStrictEquals(await again, path.to(from(1)));
  while (recorder.live("ah") > 1) await new Promise((resolve) => setTimeout(resolve, 1));
});

on.test("ReplyPath.toAsync() ends the wait of who aborts, and not that of others", async ({ path }) => {
  using calls = held();
  const controller = new AbortController();
  const { signal } = controller;
  const aborted = path.toAsync(from(1), { signal });
  const other = path.toAsync(from(1));
  const reason = new Error("enough");
  controller.abort(reason);
  assertStrictEquals(await assertRejects(() => aborted), reason);
  calls.end(0);
  assertEquals((await other).disposed, false);
  assertSpyCalls(calls, 1);
});

on.test("ReplyPath.toAsync() makes another handle when addresses change meanwhile", async ({ path }) => {
  using calls = held();
  const asking = path.toAsync(from(1));
  path.invalidate();
  calls.end(0);
  let given = false;
  asking.then(() => given = true);
  while (!given && calls.calls.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  assertSpyCalls(calls, 2);
  calls.end(1);
  assertEquals([(await asking).disposed, path.size], [false, 1]);
});

on.test("ReplyPath.toAsync() gives what to() made meanwhile", async ({ path }) => {
  using calls = held();
  const asking = path.toAsync(from(1));
  const made = path.to(from(1));
  calls.end(0);
  assertStrictEquals(await asking, made);
  assertEquals(path.size, 1);
});

on.test("ReplyPath.close() rejects all who wait, and starts none of their calls", async (recorded) => {
  const { path } = recorded;
  using calls = held();
  const asked = Array.from({ length: 12 }, (_, peer) => path.toAsync(from(peer)));
  path.close();
  for (const one of asked) await assertRejects(() => one, TypeError, "Cannot use reply path");
  for (let call = 0; call < 3; call++) calls.end(call);
  for (let destroyed = 0; destroyed < 3;) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    destroyed += recorder.takeOf("ibv_destroy_ah").length;
  }
  assertSpyCalls(calls, 3);
});

on.test("ReplyPath appears with its port and its number of peers", ({ path }) => {
  path.to(from(1));
  const text = "ReplyPath { portNum: 1, size: 1, maxPeers: 1024 }";
  assertEquals(Deno.inspect(path), text);
});
