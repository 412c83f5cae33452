/**
 * Workers that end by themselves, are told to end, or are terminated. As a program of its own it terminates Workers that
 * send with everything open, and then ends.
 *
 * @module
 */

import { WORKER_MESSAGES, WORKERS } from "../plan.ts";
import { inTime, paced, pause, type Run } from "./run.ts";
import type { WorkerKind } from "./worker.ts";

const RUNNING_MS = 200;

/** Starts one Worker at a time until the run is over. */
export async function startWorkers(run: Run, rate: number): Promise<void> {
  let started = 0;
  await paced(rate, 1, run.stop, async () => {
    const kind = WORKERS[started++ % WORKERS.length]!;
    if (kind === "process") await runProcess(run);
    else await runWorker(run, kind);
  });
}

async function runWorker(run: Run, kind: WorkerKind): Promise<void> {
  const worker = new SoakWorker(kind);
  try {
    let delivered = await worker.delivered();
    if (kind === "waits") {
      worker.tell("stop");
      delivered = await worker.delivered();
    }
    run.count("workers");
    run.count("workerMessages", delivered);
    if (delivered !== WORKER_MESSAGES) run.fail(`a Worker got ${delivered} of its messages`);
  } catch (error) {
    run.fail(`a Worker of kind "${kind}": ${error}`);
  } finally {
    if (kind !== "ends") worker.terminate();
  }
}

/**
 * What a terminated Worker had open stays open until its process ends. So the Workers that are terminated with everything
 * open belong to a process of their own.
 */
async function runProcess(run: Run): Promise<void> {
  const args = ["run", "-A", "--no-check", new URL(import.meta.url).pathname];
  const { success, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
  if (success) run.count("workersTerminatedOpen", 2);
  else run.fail(`terminated Workers: ${new TextDecoder().decode(stderr)}`);
}

/** A Worker and what it says. */
class SoakWorker {
  readonly #worker: Worker;
  #next = Promise.withResolvers<number>();

  constructor(kind: WorkerKind) {
    this.#worker = new Worker(new URL("worker.ts", import.meta.url), { type: "module" });
    this.#worker.onmessage = ({ data }) => this.#next.resolve(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.#next.reject(new Error(event.message));
    };
    this.tell(kind);
  }

  /** How many messages it has got, as soon as it says so. */
  async delivered(): Promise<number> {
    const next = this.#next.promise;
    if (!await inTime(next)) throw new Error("Cannot wait any longer for its report");
    this.#next = Promise.withResolvers();
    return await next;
  }

  tell(what: string): void {
    this.#worker.postMessage(what);
  }

  terminate(): void {
    this.#worker.terminate();
  }
}

if (import.meta.main) {
  const workers = [new SoakWorker("open"), new SoakWorker("open")];
  for (const worker of workers) await worker.delivered();
  await pause(RUNNING_MS);
  for (const worker of workers) worker.terminate();
  // Afterwards a Worker still works.
  const next = new SoakWorker("stays");
  const delivered = await next.delivered();
  next.terminate();
  Deno.exit(delivered === WORKER_MESSAGES ? 0 : 1);
}
