/**
 * Terminates Workers that send with everything open, and then ends. Afterwards a Worker still works.
 *
 * @module
 */

import { pause } from "./pace.ts";
import { SoakWorker } from "./workers.ts";

const RUNNING_MS = 200;

const workers = [new SoakWorker("open"), new SoakWorker("open")];
for (const worker of workers) await worker.report();
await pause(RUNNING_MS);
for (const worker of workers) worker.terminate();

const next = new SoakWorker("stays");
const { sent, delivered } = await next.report();
next.terminate();
Deno.exit(sent === delivered ? 0 : 1);
