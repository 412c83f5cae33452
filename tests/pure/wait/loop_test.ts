import { assertEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import type { Bell, OnWake } from "../../../wait/bell.ts";
import { BusyPoll } from "../../../wait/busy_poll.ts";
import { clock } from "../../../wait/clock.ts";
import { findSync, Loop, type Want } from "../../../wait/loop.ts";
import { nextTurn } from "../../../wait/turns.ts";
import { Time } from "../../time.ts";

/** What rings at once, or never, and is armed, and what is done with it. */
function armed(log: string[], rings: boolean): { readonly arm: () => void; readonly bell: Bell } {
  const bell: Bell = {
    sleep: (need, wake) => {
      log.push(`sleep ${need}`);
      if (rings) setTimeout(wake, 0);
      return {
        hold: (need) => log.push(need),
        cancel: () => log.push("wake"),
      };
    },
    sleepSync: () => (log.push("sleep"), rings),
  };
  return { arm: () => void log.push("arm"), bell };
}

/** A loop over a source that has so much at each look, and what it does with it. */
async function looped(looks: number[], want: Want, microseconds = 0): Promise<string[]> {
  // A turn of the event loop that never ends.
  using _clock = stub(clock, "now", () => 0);
  await nextTurn();
  const log: string[] = [];
  const ended = Promise.withResolvers<void>();
  new Loop({
    ...armed(log, true),
    read: () => {
      const count = looks.shift()!;
      log.push(`look ${count}`);
      return count;
    },
    isOpen: () => {
      if (looks.length === 0) ended.resolve();
      return looks.length > 0;
    },
    want: () => want,
    busyPoll: new BusyPoll(microseconds),
    onError: (error) => log.push(String(error)),
  }).update();
  // The timer of a pause does not keep the test alive.
  const alive = setInterval(() => {}, 1000);
  if (want !== "nothing") await ended.promise;
  clearInterval(alive);
  return log;
}

Deno.test("Loop polls while somebody waits, arms, polls again, and then sleeps", async () => {
  const cases: [looks: number[], want: Want, log: string, microseconds?: number][] = [
    [[2, 1], "held", "look 2, look 1"],
    [[0, 1, 1], "held", "look 0, arm, look 1, look 1"],
    [[0, 0, 1], "held", "look 0, arm, look 0, sleep held, wake, look 1"],
    [[0, 0, 0, 1, 1], "held", "look 0, look 0, look 0, look 1, look 1", 1000],
    [[3, 0, 1, 1], "held", "look 3, look 0, look 1, look 1", 1000],
    [[0, 1], "nothing", ""],
    [[2, 0, 0, 1], "any", "look 2, look 0, look 0, look 1"],
    [[0, 0, 2, 1], "expected", "look 0, look 0, look 2, look 1"],
  ];
  for (const [looks, want, log, microseconds] of cases) {
    assertEquals((await looped(looks, want, microseconds)).join(", "), log);
  }
});

Deno.test("Loop holds the program for what is expected, although the sleep that goes on is not needed", async () => {
  const log: string[] = [];
  let isAwaited = true;
  let isExpected = false;
  const loop = new Loop({
    ...armed(log, false),
    read: () => 0,
    isOpen: () => true,
    want: () => isAwaited ? "held" : isExpected ? "expected" : "any",
    onError: (error) => log.push(String(error)),
  });
  loop.update();
  await undefined;
  isAwaited = false;
  loop.update();
  isExpected = true;
  loop.update();
  assertEquals(log, ["arm", "sleep held", "idle", "held"]);
});

Deno.test("Loop ends a sleep that nobody needs, and sleeps without holding the program if it is told so", async () => {
  const log: string[] = [];
  let isAwaited = true;
  const loop = new Loop({
    bell: armed(log, false).bell,
    read: () => (log.push("read"), 0),
    isOpen: () => true,
    want: () => isAwaited ? "prompt" : "nothing",
    onError: (error) => log.push(String(error)),
  });
  loop.update();
  await undefined;
  isAwaited = false;
  loop.update();
  isAwaited = true;
  loop.update();
  await undefined;
  loop.wake();
  await undefined;
  // What rings for all that is there is read only when it has rung.
  assertEquals(log.join(", "), "sleep prompt, wake, sleep prompt, wake, read, sleep prompt");
});

Deno.test("Loops that begin to wait together poll no longer than a turn of the event loop may last", async () => {
  let now = Date.now();
  using _clock = stub(clock, "now", () => Math.floor(now));
  using _watch = stub(clock, "precise", () => now);
  await nextTurn();
  let polls = 0;
  for (let i = 0; i < 100; i++) {
    new Loop({
      ...armed([], false),
      read: () => {
        polls++;
        now += 0.01;
        return 0;
      },
      isOpen: () => true,
      want: () => "held",
      busyPoll: new BusyPoll(200),
      onError: () => {},
    }).update();
  }
  await undefined;
  // Two looks of each are no busy polling.
  assertEquals(polls >= 2 * 100 && polls < 2 * 100 + 250, true, `${polls} polls`);
});

Deno.test("Loop hands on the error of reading, and ends", async () => {
  const errors: unknown[] = [];
  const error = new Error("gone");
  new Loop({
    ...armed([], false),
    read: () => {
      throw error;
    },
    isOpen: () => true,
    want: () => "held",
    onError: (reason) => errors.push(reason),
  }).update();
  await undefined;
  assertEquals(errors, [error]);
});

Deno.test("findSync() polls, arms, polls and sleeps until there is something, or the time is over", () => {
  const found = (looks: number[], rings: boolean): [boolean, string] => {
    const log: string[] = [];
    const read = (): number => (log.push("look"), looks.shift() ?? 0);
    return [findSync({ ...armed(log, rings), read }, 0), log.join(" ")];
  };
  assertEquals(found([1], false), [true, "look"]);
  assertEquals(found([0, 1], false), [true, "look arm look"]);
  assertEquals(found([0, 0, 1], true), [true, "look arm look sleep look"]);
  assertEquals(found([], false), [false, "look arm look sleep"]);
});

Deno.test("Loop.wake() is noticed before the first sleep too", async () => {
  const log: string[] = [];
  const loop = new Loop({
    bell: armed(log, false).bell,
    read: () => (log.push("read"), 0),
    isOpen: () => true,
    want: () => "held",
    onError: (error) => log.push(String(error)),
  });
  loop.update();
  loop.wake();
  await undefined;
  assertEquals(log, ["read", "sleep held"]);
});

Deno.test("Loop.expect() has a source read before the first sleep, and no more when nobody needs it", async () => {
  for (const there of [0, 2]) {
    const log: string[] = [];
    let isAwaited = true;
    const loop = new Loop({
      bell: armed(log, false).bell,
      read: () => {
        isAwaited = there === 0;
        log.push("read");
        return there;
      },
      isOpen: () => true,
      want: () => isAwaited ? "held" : "nothing",
      onError: (error) => log.push(String(error)),
    });
    loop.expect();
    loop.update();
    await undefined;
    assertEquals(log, there === 0 ? ["read", "sleep held"] : ["read"]);
  }
});

Deno.test("Loop that was stopped does not go on with what it had begun", async () => {
  await nextTurn();
  let now = Date.now();
  using _clock = stub(clock, "now", () => now);
  using _watch = stub(clock, "precise", () => now);
  let isOpen = true;
  let reads = 0;
  const loop = new Loop({
    ...armed([], false),
    // After the second one the turn of the event loop is over.
    read: () => (now += 10, ++reads < 3 ? 1 : 0),
    isOpen: () => isOpen,
    want: () => "held",
    onError: () => {},
  });
  loop.update();
  await undefined;
  assertEquals(reads, 2);
  isOpen = false;
  loop.update();
  isOpen = true;
  loop.update();
  await undefined;
  // Before and after the arming.
  assertEquals(reads, 4);
  await nextTurn();
  await undefined;
  assertEquals(reads, 4);
});

Deno.test("Loop sets a timer only now and then while its pauses are short", async () => {
  using time = new Time();
  const messages = 160;
  let [isOpen, isAwaited, isThere] = [true, true, false];
  let ring: OnWake = () => {};
  const loop = new Loop({
    ...armed([], false),
    bell: {
      sleep: (_need, wake) => (ring = wake, { hold: () => {}, cancel: () => {} }),
      sleepSync: () => false,
    },
    read: () => {
      if (!isThere) return 0;
      isThere = isAwaited = false;
      return 1;
    },
    isOpen: () => isOpen,
    want: () => isAwaited ? "held" : "any",
    onError: () => {},
  });
  for (let i = 0; i < messages; i++) {
    isAwaited = true;
    loop.update();
    await nextTurn();
    time.pass(1);
    isThere = true;
    ring();
    await nextTurn();
  }
  isOpen = false;
  loop.update();
  assertEquals(time.timers <= messages / 10, true, `${time.timers} timers`);
});
