// Makes valid calls when it is asked to.

import { type Case, validCases } from "../cases.ts";
import { attempt } from "../attempt.ts";
import { ObjectSet } from "../../registry/object_set.ts";

/** A call, and how often. Without end it is answered when the first call has begun. */
export interface Order {
  readonly id: string;
  readonly rounds: number;
}

/** What was wrong. */
export interface Answer {
  readonly wrong: readonly string[];
}

addEventListener("message", async (event) => {
  answer(await follow((event as MessageEvent<Order>).data));
});

answer({ wrong: [] });

function answer(what: Answer): void {
  (globalThis as unknown as { postMessage: (what: Answer) => void }).postMessage(what);
}

async function follow({ id, rounds }: Order): Promise<Answer> {
  const called = validCases().find((one) => one.id === id)!;
  if (rounds === Infinity) {
    setTimeout(() => goOn(called), 0);
    await turn();
    return { wrong: [] };
  }
  const wrong: string[] = [];
  for (let i = 0; i < rounds; i++) wrong.push(...(await attempt(called)).wrong);
  return { wrong };
}

/** Calls until the Worker is ended, and closes every second ObjectSet. */
async function goOn({ run }: Case): Promise<never> {
  for (let i = 0;; i++) {
    const set = new ObjectSet();
    const settled = (async () => await run(set))().catch(() => {});
    await Promise.all([Promise.race([settled, turn()]), turn()]);
    if (i % 2 === 1) set.close();
  }
}

/** Lets the Worker answer, and be ended. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}
