import { assertEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import type { CompletionQueue } from "../../../mod.ts";
import { pump } from "../../../net/shared/pump.ts";
import { nextTurn, Turns } from "../../../net/shared/turns.ts";

/** What a pump does with a queue that has so many completions at each look. */
async function pumped(looks: number[], spin: number, awaited: boolean): Promise<string[]> {
  const log: string[] = [];
  const cq = {
    reqNotify: () => log.push("arm"),
    channel: { getCqEvent: () => Promise.resolve(log.push("event")) },
  } as unknown as CompletionQueue;
  await pump({
    cq,
    drain: () => {
      const count = looks.shift()!;
      log.push(`look ${count}`);
      return count;
    },
    isOpen: () => looks.length > 0,
    isAwaited: () => awaited,
    spin,
    rest: () => {
      log.push("rest");
      return undefined;
    },
    signal: new AbortController().signal,
  });
  return log;
}

Deno.test("pump() polls while somebody waits, arms the queue, looks again, and then waits", async () => {
  const cases: [looks: number[], spin: number, awaited: boolean, log: string][] = [
    [[2, 1], 0, true, "look 2, rest, look 1, rest"],
    [[0, 1, 1], 0, true, "look 0, arm, look 1, rest, look 1, rest"],
    [[0, 0, 1], 0, true, "look 0, arm, look 0, event, rest, look 1, rest"],
    [[0, 0, 1], 5, false, "look 0, arm, look 0, event, rest, look 1, rest"],
    [[0, 0, 0, 1, 1], 5, true, "look 0, look 0, look 0, look 1, rest, look 1, rest"],
    [
      [0, 0, 0, 0, 1],
      2,
      true,
      "look 0, look 0, look 0, arm, look 0, event, rest, look 1, rest",
    ],
  ];
  for (const [looks, spin, awaited, log] of cases) {
    assertEquals((await pumped(looks, spin, awaited)).join(", "), log);
  }
});

Deno.test("pump() lets the event loop run while it polls, and ends when it is closed meanwhile", async () => {
  let turns = 0;
  let looks = 0;
  let open = true;
  const counting = (async () => {
    while (open) {
      await nextTurn();
      turns++;
    }
  })();
  await pump({
    cq: {} as CompletionQueue,
    drain: () => {
      if (++looks > 20) open = false;
      return 0;
    },
    isOpen: () => open,
    isAwaited: () => open,
    spin: 100,
    rest: () => undefined,
    signal: new AbortController().signal,
  });
  await counting;
  assertEquals(turns >= 9, true, `${turns} turns`);
});

/** How many calls follow each other before one has to wait, three times, when each call takes a time. */
function runs(max: number, milliseconds: number): number[] {
  let now = 0;
  using _clock = stub(performance, "now", () => now);
  const turns = new Turns(max);
  return [1, 2, 3].map(() => {
    let calls = 0;
    while (turns.mayContinue()) {
      calls++;
      now += milliseconds;
    }
    return calls;
  });
}

Deno.test("Turns lets as many calls follow each other as it was made for, and few slow ones", () => {
  assertEquals(runs(64, 0.01), [63, 63, 63]);
  assertEquals(runs(8, 0), [7, 7, 7]);
  assertEquals(runs(64, 0.2), [7, 7, 7]);
  assertEquals(runs(64, 10), [3, 3, 3]);
});
