// Ends a Worker in each state that the arguments name, and works itself after each.

import { makeEverything, postWork } from "./endings.ts";

async function endWorker(state: string): Promise<void> {
  const worker = new Worker(new URL("worker.ts", import.meta.url), { type: "module" });
  const answer = (): Promise<void> =>
    new Promise((resolve, reject) => {
      worker.onmessage = () => resolve();
      worker.onerror = ({ message }) => reject(new Error(message));
    });
  await answer();
  const begun = answer();
  worker.postMessage(state);
  await begun;
  await new Promise((resolve) => setTimeout(resolve, 20));
  worker.terminate();
}

async function work(): Promise<void> {
  const all = makeEverything();
  postWork(all);
  let completions = 0;
  for await (const wc of all.cq.completions()) {
    wc.check();
    if (++completions === 32) break;
  }
  all.context.close();
}

for (const state of Deno.args) {
  // The test shows it when the program ends in another way.
  console.error(`A Worker is ${state}`);
  await endWorker(state);
  await work();
}
// What the Workers held stays until here.
Deno.exit(0);
