// Address handles made on other threads: the event loop goes on, and nothing leaks however the wait ends.
import {
  assert,
  assertEquals,
  assertGreater,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { assertSpyCalls, spy } from "@std/testing/mock";
import {
  AddressHandle,
  Grh,
  initAhFromWcAsync,
  ProtectionDomain,
  VerbsError,
  WcFlags,
} from "../../../mod.ts";
import { nonblocking, verbs } from "../../../ffi/library.ts";
import { countOf, deviceTest, openRxe, resourceCounts, selfAddress, until } from "../setup.ts";
import { slowLink } from "../slow_link.ts";

deviceTest("AddressHandle.create() makes a handle", async () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  using ah = await AddressHandle.create(pd, selfAddress(context));
  assertEquals(ah.pd, pd);
  assertEquals(ah.disposed, false);
});

deviceTest("AddressHandle.create() fails as new AddressHandle() does", async () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  const attr = { portNum: 1, dlid: 3 };
  const error = await assertRejects(() => AddressHandle.create(pd, attr), VerbsError);
  const expected = assertThrows(() => new AddressHandle(pd, attr), VerbsError);
  assertEquals([error.code, error.message], ["EINVAL", expected.message]);
});

deviceTest("AddressHandle.create() makes 40 handles at a time", async () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  const attr = selfAddress(context);
  const handles = await Promise.all(
    Array.from({ length: 40 }, () => AddressHandle.create(pd, attr)),
  );
  const addresses = handles.map((ah) => Deno.UnsafePointer.value(ah.unsafeHandle));
  assertEquals(new Set(addresses).size, 40);
});

deviceTest("AddressHandle.create() lets timers run while no peer answers", async () => {
  await using link = await slowLink();
  using pd = new ProtectionDomain(link.context);
  let ticks = 0;
  const timer = setInterval(() => ticks++, 10);
  const error = await assertRejects(() => AddressHandle.create(pd, link.peer), VerbsError);
  clearInterval(timer);
  assertEquals(error.code, "ETIMEDOUT");
  assertStringIncludes(error.hint!, "not resolved in time");
  assertGreater(ticks, 5);
});

deviceTest("AddressHandle.create() fails each of 16 calls when no peer answers", async () => {
  await using link = await slowLink();
  using pd = new ProtectionDomain(link.context);
  const calls = Array.from({ length: 16 }, () => AddressHandle.create(pd, link.peer));
  const outcomes = await Promise.allSettled(calls);
  const codes = outcomes.map((outcome) => outcome.status === "rejected" && outcome.reason.code);
  assertEquals(codes, codes.map(() => "ETIMEDOUT"));
});

deviceTest("AddressHandle.create() leaves threads for files while no peer answers", async () => {
  await using link = await slowLink();
  using pd = new ProtectionDomain(link.context);
  using created = spy(nonblocking(), "ibv_create_ah");
  const controller = new AbortController();
  const { signal } = controller;
  let settled = 0;
  const asked = Array.from({ length: 600 }, async () => {
    await assertRejects(() => AddressHandle.create(pd, link.peer, { signal }));
    settled++;
  });
  await Deno.readTextFile("/proc/self/status");
  // If the calls took all threads, nearly all of them would have to fail first.
  assert(settled < 300, "the file had to wait for peers");
  const started = created.calls.length;
  // 8 calls run at a time. When one of them has failed in this turn, the next one has started already.
  assert(started - settled <= 16);
  controller.abort();
  await Promise.all(asked);
  await Promise.allSettled(created.calls.map(({ returned }) => returned));
  assertSpyCalls(created, started);
});

deviceTest("AddressHandle.create() calls nothing when its signal has aborted", async () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  using called = spy(nonblocking(), "ibv_create_ah");
  const reason = new Error("no longer wanted");
  const signal = AbortSignal.abort(reason);
  const call = AddressHandle.create(pd, selfAddress(context), { signal });
  assertEquals(await call.catch((error) => error), reason);
  assertSpyCalls(called, 0);
});

deviceTest("AddressHandle.create() rejects on abort, and destroys a late handle", async () => {
  await using link = await slowLink();
  const before = countOfSlow();
  const pd = new ProtectionDomain(link.context);
  const controller = new AbortController();
  using made = spy(nonblocking(), "ibv_create_ah");
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  const call = AddressHandle.create(pd, link.peer, { signal: controller.signal });
  const reason = new Error("no longer wanted");
  controller.abort(reason);
  assertEquals(await call.catch((error) => error), reason);
  assertSpyCalls(destroyed, 0);
  link.answer();
  const { value } = await made.calls[0]!.returned!;
  assert(value !== null, "the call must have made a handle for this test to show anything");
  await until("the handle destroyed", () => destroyed.calls.length > 0);
  assertSpyCalls(destroyed, 1);
  assertEquals(destroyed.calls[0]!.returned, 0);
  pd.close();
  assertEquals(countOfSlow(), before);
});

deviceTest("AddressHandle.create() keeps its handle when it aborts afterwards", async () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  const controller = new AbortController();
  const { signal } = controller;
  using ah = await AddressHandle.create(pd, selfAddress(context), { signal });
  controller.abort();
  assertEquals(ah.disposed, false);
});

deviceTest("AddressHandle.create() rejects when the domain is disposed meanwhile", async () => {
  await using link = await slowLink();
  const before = countOfSlow();
  const pd = new ProtectionDomain(link.context);
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  const call = AddressHandle.create(pd, link.peer);
  pd.close();
  assertEquals(pd.disposed, true);
  link.answer();
  await assertRejects(() => call, TypeError, "was disposed");
  assertSpyCalls(destroyed, 1);
  await until("the protection domain gone", () => countOfSlow() === before);
});

deviceTest("AddressHandle.create() keeps the device open until it is done", async () => {
  await using link = await slowLink();
  const { context } = link;
  const pd = new ProtectionDomain(context);
  const call = AddressHandle.create(pd, link.peer);
  context.close();
  assertEquals(resourceCounts()["rxe_slow"]!["ctx"], 1);
  await assertRejects(() => call, TypeError, "was disposed");
  await until("the context gone", () => resourceCounts()["rxe_slow"]!["ctx"] === 0);
});

deviceTest("initAhFromWcAsync() rejects at once when its signal aborts", async () => {
  const before = countOf("ctx");
  const context = openRxe();
  const controller = new AbortController();
  const { signal } = controller;
  const wc = { wcFlags: 0, slid: 1, sl: 0, dlidPathBits: 0 };
  const call = initAhFromWcAsync(context, 1, wc, undefined, { signal });
  controller.abort();
  assertEquals(await call.catch((error) => error), signal.reason);
  context.close();
  await until("the context gone", () => countOf("ctx") === before);
});

deviceTest("AddressHandle.createFromWc() destroys the handle that comes late", async () => {
  using context = openRxe();
  const before = countOf("pd");
  const pd = new ProtectionDomain(context);
  const { dgid } = selfAddress(context).grh!;
  const bytes = new Uint8Array(Grh.SIZE);
  bytes[20] = 0x45;
  bytes.set(dgid.bytes.subarray(12), 32);
  bytes.set(dgid.bytes.subarray(12), 36);
  const wc = { wcFlags: WcFlags.GRH, slid: 0, sl: 0, dlidPathBits: 0 };
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  const controller = new AbortController();
  const { signal } = controller;
  const call = AddressHandle.createFromWc(pd, 1, wc, new Grh(bytes), { signal });
  controller.abort();
  assertEquals(await call.catch((error) => error), signal.reason);
  pd.close();
  await until("the protection domain gone", () => countOf("pd") === before);
  assertSpyCalls(destroyed, 1);
});

function countOfSlow(): number {
  return resourceCounts()["rxe_slow"]!["pd"]!;
}
