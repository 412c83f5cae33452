import { assertEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import { BusyPoll } from "../../../internal/busy_poll.ts";
import { clock } from "../../../internal/clock.ts";
import { nextTurn } from "../../../internal/turns.ts";
import type { CompletionQueue } from "../../../mod.ts";
import { Pump, type Pumping } from "../../../net/shared/pump.ts";

type State = "awaited" | ReturnType<Pumping["unawaited"]>;

/** A queue whose events come at once, or never, and what is done with it. */
function queue(log: string[], hasEvents: boolean): CompletionQueue {
  const watch = (onReadable: () => void): unknown => ({
    arm: () => log.push("arm"),
    begin: (isHeld: boolean) => {
      log.push(isHeld ? "watch, held" : "watch");
      if (hasEvents) setTimeout(onReadable, 0);
    },
    hold: (isHeld: boolean) => log.push(isHeld ? "hold" : "let go"),
    end: () => Promise.resolve(log.push("end")),
  });
  return { channel: { watch } } as unknown as CompletionQueue;
}

/** A pump of a queue that has so many completions at each look, and what it does with it. */
async function pumped(looks: number[], state: State, microseconds = 0): Promise<string[]> {
  // A turn of the event loop that never ends.
  using _clock = stub(clock, "now", () => 0);
  await nextTurn();
  const log: string[] = [];
  const ended = Promise.withResolvers<void>();
  const pump = new Pump({
    cq: queue(log, true),
    drain: () => {
      const count = looks.shift()!;
      log.push(`look ${count}`);
      return count;
    },
    isOpen: () => {
      if (looks.length === 0) ended.resolve();
      return looks.length > 0;
    },
    isAwaited: () => state === "awaited",
    unawaited: () => state === "awaited" ? "any" : state,
    busyPoll: new BusyPoll(microseconds),
    onRead: () => void log.push("read"),
    onError: (error) => log.push(String(error)),
  });
  pump.start();
  // The timer of a pause does not keep the test alive.
  const alive = setInterval(() => {}, 1000);
  if (state !== "nothing") await ended.promise;
  clearInterval(alive);
  await pump.ended;
  return log;
}

Deno.test("Pump polls while somebody waits, arms the queue, looks again, and then waits", async () => {
  const cases: [looks: number[], state: State, log: string, microseconds?: number][] = [
    [[2, 1], "awaited", "look 2, read, look 1, end"],
    [[0, 1, 1], "awaited", "look 0, arm, look 1, read, look 1, end"],
    [[0, 0, 1], "awaited", "look 0, arm, look 0, watch, held, look 1, end"],
    [[0, 0, 0, 1, 1], "awaited", "look 0, look 0, look 0, look 1, read, look 1, end", 1000],
    [
      [3, 0, 1, 1],
      "awaited",
      "look 3, read, look 0, look 1, read, look 1, end",
      1000,
    ],
    [[0, 1], "nothing", "look 0, end"],
    [[2, 0, 0, 1], "any", "look 2, read, look 0, look 0, look 1, end"],
    [[0, 0, 2, 1], "expected", "look 0, look 0, look 2, read, look 1, end"],
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
    cq: queue(log, false),
    drain: () => 0,
    isOpen: () => true,
    isAwaited: () => isAwaited,
    unawaited: () => isExpected ? "expected" : "any",
    busyPoll: new BusyPoll(0),
    onError: (error) => log.push(String(error)),
  });
  pump.start();
  isAwaited = false;
  pump.look();
  isExpected = true;
  pump.look();
  assertEquals(log, ["arm", "watch, held", "let go", "hold"]);
});

Deno.test("Pumps that begin to wait together poll no longer than a turn of the event loop may last", async () => {
  let now = Date.now();
  using _clock = stub(clock, "now", () => Math.floor(now));
  using _watch = stub(clock, "precise", () => now);
  await nextTurn();
  let polls = 0;
  for (let i = 0; i < 100; i++) {
    new Pump({
      cq: queue([], false),
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
    }).start();
  }
  // Two looks of each are no busy polling.
  assertEquals(polls < 2 * 100 + 250, true, `${polls} polls`);
});

Deno.test("Pump hands on the error of reading, and ends", async () => {
  const errors: unknown[] = [];
  const error = new Error("gone");
  const pump = new Pump({
    cq: queue([], false),
    drain: () => {
      throw error;
    },
    isOpen: () => true,
    isAwaited: () => true,
    unawaited: () => "any",
    busyPoll: new BusyPoll(0),
    onError: (reason) => errors.push(reason),
  });
  pump.start();
  await pump.ended;
  assertEquals(errors, [error]);
});
