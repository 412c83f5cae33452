// Ends a Worker in the state that the argument names, and then works itself.

import { makeEverything, postWork } from "./endings.ts";

const worker = new Worker(new URL("worker.ts", import.meta.url), { type: "module" });

function answer(): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.onmessage = () => resolve();
    worker.onerror = ({ message }) => reject(new Error(message));
  });
}

await answer();
const begun = answer();
worker.postMessage(Deno.args[0]);
await begun;
await new Promise((resolve) => setTimeout(resolve, 20));
worker.terminate();

const all = makeEverything();
postWork(all);
let completions = 0;
for await (const wc of all.cq.completions()) {
  wc.check();
  if (++completions === 32) break;
}
all.context.close();
// What the Worker held stays until here.
Deno.exit(0);
