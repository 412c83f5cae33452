import { assertEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import { deadlineOf } from "../../../cli/peer/tcp.ts";

Deno.test("deadlineOf() counts seconds, and tells what did not happen", () => {
  let now = 0;
  const ends: [() => void, number][] = [];
  const start = (end: () => void, ms: number): number => ends.push([end, ms]);
  using _clock = stub(performance, "now", () => now);
  using _timers = stub(globalThis, "setTimeout", start as never);
  using first = deadlineOf(10, () => "Nobody answered");
  using second = deadlineOf(10, () => "After 2 messages nobody answered");
  now = 10_000;
  for (const [end] of ends) end();
  assertEquals(ends.map(([, ms]) => ms), [10_000, 10_000]);
  const messages = [first, second].map(({ signal }) => signal.reason.message);
  assertEquals(messages, [
    "Nobody answered within 10 s",
    "After 2 messages nobody answered within 10 s",
  ]);
});
