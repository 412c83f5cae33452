// A Worker that is ended in the state that it is told.

import { makeEverything, postWork, waitForAll } from "./endings.ts";

const QUEUE = 48;

const STATES: Readonly<Record<string, () => unknown>> = {
  holding: () => {},
  posting: () => {
    const all = makeEverything();
    for (let inQueue = 0;;) {
      if (inQueue < QUEUE) {
        postWork(all);
        inQueue += QUEUE;
      }
      inQueue -= all.cq.poll(16).length;
    }
  },
  polling: () => {
    const { cq } = makeEverything();
    for (;;) cq.poll(16);
  },
  waiting: async () => {
    const { cq } = makeEverything();
    for await (const _ of cq.completions());
  },
  "calling on another thread": () => waitForAll(makeEverything()),
};

addEventListener("message", (event) => {
  const all = makeEverything();
  postWork(all);
  // The state begins when the answer is on its way.
  setTimeout(STATES[(event as MessageEvent<string>).data]!, 0);
  (globalThis as unknown as { postMessage: (what: string) => void }).postMessage("begun");
});
(globalThis as unknown as { postMessage: (what: string) => void }).postMessage("ready");
