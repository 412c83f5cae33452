import { assertEquals } from "@std/assert";
import type { CompletionQueue } from "../../../mod.ts";
import { pump } from "../../../net/shared/pump.ts";
import { nextTurn } from "../../../internal/turns.ts";

/** What a pump does with a queue that has so many completions at each look. */
async function pumped(looks: number[], spin: number, awaited: boolean): Promise<string[]> {
  const log: string[] = [];
  const cq = {
    reqNotify: () => log.push("arm"),
    channel: {
      ref: () => log.push("hold"),
      unref: () => log.push("let go"),
      getCqEvent: () => Promise.resolve(log.push("event")),
    },
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

Deno.test("pump() polls and holds the program while somebody waits, arms the queue, looks again, and then waits", async () => {
  const cases: [looks: number[], spin: number, awaited: boolean, log: string][] = [
    [[2, 1], 0, true, "look 2, rest, look 1"],
    [[0, 1, 1], 0, true, "look 0, hold, arm, look 1, rest, look 1"],
    [[0, 0, 1], 0, true, "look 0, hold, arm, look 0, event, rest, look 1"],
    [[0, 0, 1], 5, false, "look 0, let go, arm, look 0, event, rest, look 1"],
    [[0, 0, 0, 1, 1], 5, true, "look 0, look 0, look 0, look 1, rest, look 1"],
    [
      [0, 0, 0, 0, 1],
      2,
      true,
      "look 0, look 0, look 0, hold, arm, look 0, event, rest, look 1",
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
