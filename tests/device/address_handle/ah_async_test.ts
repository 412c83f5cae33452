// Address handles made on other threads: the event loop goes on, and nothing leaks however the wait ends.
import {
  assert,
  assertEquals,
  assertGreater,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { assertSpyCalls, spy } from "@std/testing/mock";
import { AddressHandle, ProtectionDomain, VerbsError } from "../../../mod.ts";
import { nonblocking } from "../../../ffi/library.ts";
import { deviceTest, resourceCounts, until } from "../setup.ts";
import { slowLink } from "../slow_link.ts";

deviceTest("AddressHandle.createAsync() lets timers run while no peer answers", async () => {
  await using link = await slowLink();
  using pd = new ProtectionDomain(link.context);
  let ticks = 0;
  const timer = setInterval(() => ticks++, 10);
  const error = await assertRejects(() => AddressHandle.createAsync(pd, link.peer), VerbsError);
  clearInterval(timer);
  assertEquals(error.code, "ETIMEDOUT");
  assertStringIncludes(error.hint!, "not resolved in time");
  assertGreater(ticks, 5);
});

deviceTest(
  "AddressHandle.createAsync() leaves threads for files while no peer answers",
  async () => {
    await using link = await slowLink();
    using pd = new ProtectionDomain(link.context);
    using created = spy(nonblocking(), "ibv_create_ah");
    const controller = new AbortController();
    const { signal } = controller;
    let settled = 0;
    const asked = Array.from({ length: 600 }, async () => {
      await assertRejects(() => AddressHandle.createAsync(pd, link.peer, { signal }));
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
  },
);

deviceTest("AddressHandle.createAsync() keeps the device open until it is done", async () => {
  await using link = await slowLink();
  const { context } = link;
  const pd = new ProtectionDomain(context);
  const call = AddressHandle.createAsync(pd, link.peer);
  context.close();
  assertEquals(resourceCounts()["rxe_slow"]!["ctx"], 1);
  await assertRejects(() => call, TypeError, "was disposed");
  await until("the context gone", () => resourceCounts()["rxe_slow"]!["ctx"] === 0);
});
