import { assertEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import { BusyPoll } from "../../../internal/busy_poll.ts";
import { clock } from "../../../internal/clock.ts";
import { nextTurn } from "../../../internal/turns.ts";
import type { CompletionQueue } from "../../../mod.ts";
import { Pump, type Pumping } from "../../../net/shared/pump.ts";

type State = "awaited" | ReturnType<Pumping["unawaited"]>;

/** A pump of a queue that has so many completions at each look, and what it does with it. */
async function pumped(looks: number[], state: State, microseconds = 0): Promise<string[]> {
  // A turn of the event loop that never ends.
  using _clock = stub(clock, "now", () => 0);
  await nextTurn();
  const log: string[] = [];
  const cq = {
    reqNotify: () => log.push("arm"),
    channel: {
      ref: () => log.push("hold"),
      unref: () => log.push("let go"),
      getCqEvent: () => Promise.resolve(log.push("event")),
    },
  } as unknown as CompletionQueue;
  const pump = new Pump({
    cq,
    drain: () => {
      const count = looks.shift()!;
      log.push(`look ${count}`);
      return count;
    },
    isOpen: () => looks.length > 0,
    isAwaited: () => state === "awaited",
    unawaited: () => state === "awaited" ? "any" : state,
    busyPoll: new BusyPoll(microseconds),
    onRead: () => void log.push("read"),
    onError: (error) => log.push(String(error)),
    signal: new AbortController().signal,
  });
  // The timer of a pause does not keep the test alive.
  const alive = setInterval(() => {}, 1000);
  pump.start();
  await pump.ended;
  clearInterval(alive);
  return log;
}

Deno.test("Pump polls and holds the program while somebody waits, arms the queue, looks again, and then waits", async () => {
  const cases: [looks: number[], state: State, log: string, microseconds?: number][] = [
    [[2, 1], "awaited", "hold, look 2, read, look 1"],
    [[0, 1, 1], "awaited", "hold, look 0, arm, look 1, read, look 1"],
    [[0, 0, 1], "awaited", "hold, look 0, arm, look 0, event, read, look 1"],
    [[0, 0, 0, 1, 1], "awaited", "hold, look 0, look 0, look 0, look 1, read, look 1", 1000],
    [[3, 0, 1, 1], "awaited", "hold, look 3, read, look 0, arm, look 1, read, look 1", 1000],
    [[0, 1], "nothing", "let go, look 0"],
    [[2, 0, 0, 1], "any", "let go, look 2, read, look 0, look 0, look 1"],
    [[0, 0, 2, 1], "expected", "hold, look 0, look 0, look 2, read, look 1"],
  ];
  for (const [looks, state, log, microseconds] of cases) {
    assertEquals((await pumped(looks, state, microseconds)).join(", "), log);
  }
});

Deno.test("Pump holds the program for what is expected, although the wait that goes on is not needed", () => {
  const log: string[] = [];
  let isAwaited = true;
  let isExpected = false;
  const pump = new Pump({
    cq: {
      reqNotify: () => {},
      channel: {
        ref: () => log.push("hold"),
        unref: () => log.push("let go"),
        getCqEvent: () => new Promise(() => {}),
      },
    } as unknown as CompletionQueue,
    drain: () => 0,
    isOpen: () => true,
    isAwaited: () => isAwaited,
    unawaited: () => isExpected ? "expected" : "any",
    busyPoll: new BusyPoll(0),
    onError: (error) => log.push(String(error)),
    signal: new AbortController().signal,
  });
  pump.start();
  isAwaited = false;
  pump.look();
  isExpected = true;
  pump.look();
  assertEquals(log, ["hold", "let go", "hold"]);
});

Deno.test("Pumps that begin to wait together poll no longer than a turn of the event loop may last", async () => {
  let now = Date.now();
  using _clock = stub(clock, "now", () => Math.floor(now));
  using _watch = stub(performance, "now", () => now);
  await nextTurn();
  let polls = 0;
  for (let i = 0; i < 100; i++) {
    new Pump({
      cq: {
        reqNotify: () => {},
        channel: { ref: () => {}, getCqEvent: () => new Promise(() => {}) },
      } as unknown as CompletionQueue,
      drain: () => {
        polls++;
        now += 0.01;
        return 0;
      },
      isOpen: () => true,
      isAwaited: () => true,
      unawaited: () => "any",
      busyPoll: new BusyPoll(200),
      onError: () => {},
      signal: new AbortController().signal,
    }).start();
  }
  // Two looks of each are no busy polling.
  assertEquals(polls < 2 * 100 + 250, true, `${polls} polls`);
});

Deno.test("Pump hands on the error of reading, and ends", async () => {
  const errors: unknown[] = [];
  const error = new Error("gone");
  const pump = new Pump({
    cq: { channel: { ref: () => {} } } as unknown as CompletionQueue,
    drain: () => {
      throw error;
    },
    isOpen: () => true,
    isAwaited: () => true,
    unawaited: () => "any",
    busyPoll: new BusyPoll(0),
    onError: (reason) => errors.push(reason),
    signal: new AbortController().signal,
  });
  pump.start();
  await pump.ended;
  assertEquals(errors, [error]);
});
