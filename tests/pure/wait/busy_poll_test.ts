// Polling before a wait sleeps: for how long, and how it learns.
import { assertEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import { BusyPoll } from "../../../wait/busy_poll.ts";
import { clock } from "../../../wait/clock.ts";

/** A clock that each poll moves on by 10 microseconds. */
function polling(microseconds: number): {
  /** One wait, whose n-th poll finds something. Returns how many polls there were. */
  wait: (n: number) => number;
} & Disposable {
  let now = 0;
  const stopped = stub(clock, "precise", () => now);
  const busyPoll = new BusyPoll(microseconds);
  return {
    wait: (n) => {
      let polls = 0;
      const isFound = busyPoll.finds(() => {
        now += 0.01;
        return Number(++polls === n);
      });
      assertEquals(isFound, polls === n, `${polls} polls`);
      return polls;
    },
    [Symbol.dispose]: () => stopped.restore(),
  };
}

Deno.test("BusyPoll polls until it finds something, or its time is over", () => {
  using polls = polling(500);
  assertEquals([1, 30, 50, 2].map(polls.wait), [1, 30, 50, 2]);
  const most = polls.wait(Infinity);
  assertEquals(most >= 50 && most < 50 + 16, true, `${most} polls`);
});

Deno.test("BusyPoll looks at the clock about as often, whatever a poll takes", () => {
  for (const pollMs of [0.00002, 0.001, 0.01]) {
    let now = 0;
    let looks = 0;
    using _clock = stub(clock, "precise", () => (looks++, now));
    const busyPoll = new BusyPoll(200);
    const wait = (): void => {
      while (!busyPoll.finds(() => (now += pollMs, 0)) && looks === 0);
    };
    for (let i = 0; i < 20; i++) {
      looks = 0;
      wait();
    }
    assertEquals(looks > 2 && looks <= 40, true, `${looks} looks with polls of ${pollMs} ms`);
  }
});

Deno.test("BusyPoll ends although its clock stands still", () => {
  using _clock = stub(clock, "precise", () => 0);
  let polls = 0;
  assertEquals(new BusyPoll(200).finds(() => Number(++polls > 1e6)), false);
  assertEquals(polls > 200, true, `${polls} polls`);
});

Deno.test("BusyPoll of no time polls never", () => {
  using polls = polling(0);
  assertEquals(polls.wait(1), 0);
});

Deno.test("BusyPoll polls in ever fewer waits while it finds nothing, and in each after it has found something", () => {
  using polls = polling(100);
  const tried: number[] = [];
  for (let wait = 0; wait < 5000; wait++) if (polls.wait(Infinity) > 0) tried.push(wait);
  assertEquals(tried, [0, 2, 6, 14, 30, 62, 126, 254, 510, 1022, 2046, 3070, 4094]);
  while (polls.wait(1) === 0);
  assertEquals([3, 4, 5].map(polls.wait), [3, 4, 5]);
});
