/** Workers that end by themselves, are told to end, or are terminated. */

import { fileURLToPath } from "node:url";
import { paced, pause } from "./pace.ts";
import { PATIENCE_MS, type Run } from "./run.ts";
import type { WorkerKind, WorkerReport } from "./worker.ts";

/**
 * What a terminated Worker had open stays open until its process ends. So the Workers that are terminated with everything
 * open belong to a process of their own.
 */
const TERMINATED = fileURLToPath(new URL("terminated.ts", import.meta.url));
const KINDS: readonly (WorkerKind | "process")[] = [
  "ends",
  "stays",
  "waits",
  "ends",
  "stays",
  "process",
];

/** Starts one Worker at a time until the run is over. */
export async function startWorkers(run: Run): Promise<void> {
  let started = 0;
  await paced(run.rates.workers, 1, run.stop, async () => {
    const kind = KINDS[started++ % KINDS.length]!;
    if (kind === "process") await runProcess(run);
    else await runWorker(run, kind);
  });
}

async function runWorker(run: Run, kind: WorkerKind): Promise<void> {
  run.count("workers");
  const worker = new SoakWorker(kind);
  try {
    let report = await worker.report();
    if (kind === "waits") {
      worker.tell("stop");
      report = await worker.report();
    }
    run.count("workerMessages", report.sent);
    if (report.delivered !== report.sent) {
      run.fail(`a Worker got ${report.delivered} of ${report.sent} messages`);
    }
  } catch (error) {
    run.fail(`a Worker of kind "${kind}": ${error}`);
  } finally {
    if (kind !== "ends") worker.terminate();
  }
}

async function runProcess(run: Run): Promise<void> {
  const args = ["run", "-A", "--no-check", TERMINATED];
  const { success, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
  run.count("workersTerminatedOpen", 2);
  if (!success) run.fail(`terminated Workers: ${new TextDecoder().decode(stderr)}`);
}

/** A Worker and what it says. */
export class SoakWorker {
  readonly #worker: Worker;
  #next = Promise.withResolvers<WorkerReport>();

  /** Starts it. */
  constructor(kind: WorkerKind) {
    this.#worker = new Worker(new URL("worker.ts", import.meta.url), { type: "module" });
    this.#worker.onmessage = ({ data }) => this.#next.resolve(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.#next.reject(new Error(event.message));
    };
    this.#worker.postMessage(kind);
  }

  /** The next report. */
  async report(): Promise<WorkerReport> {
    const over = new AbortController();
    const late = pause(PATIENCE_MS, over.signal).then((): never => {
      throw new Error("Cannot get the report of a Worker: it does not come");
    });
    try {
      return await Promise.race([this.#next.promise, late]);
    } finally {
      this.#next = Promise.withResolvers();
      late.catch(() => {});
      over.abort();
    }
  }

  /** Sends it a message. */
  tell(what: string): void {
    this.#worker.postMessage(what);
  }

  /** Terminates it. */
  terminate(): void {
    this.#worker.terminate();
  }
}
