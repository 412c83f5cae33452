/** Workers that end by themselves, are told to end, or are terminated. */

import { importMap } from "../../../tests/device/programs.ts";
import { inProject } from "../../host/paths.ts";
import { WORKER_MESSAGES, WORKERS } from "../plan.ts";
import { inTime, paced, type Run } from "./run.ts";
import type { WorkerKind } from "./worker.ts";

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
  const worker = new Worker(new URL("worker.ts", import.meta.url), { type: "module" });
  /** How many messages it has got, as soon as it says so. */
  const delivered = async (what: string): Promise<number> => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => {
      event.preventDefault();
      reject(new Error(event.message));
    };
    worker.postMessage(what);
    if (!await inTime(promise)) throw new Error("Cannot wait any longer for its report");
    return await promise;
  };
  try {
    let count = await delivered(kind);
    if (kind === "waits") count = await delivered("stop");
    run.count("workers");
    run.count("workerMessages", count);
    if (count !== WORKER_MESSAGES) run.fail(`a Worker got ${count} of its messages`);
  } catch (error) {
    run.fail(`a Worker of kind "${kind}": ${error}`);
  } finally {
    if (kind !== "ends") worker.terminate();
  }
}

/**
 * What a terminated Worker had open stays open until its process ends. So a Worker that is terminated with everything
 * open belongs to a process of its own.
 */
async function runProcess(run: Run): Promise<void> {
  const program = inProject("tests/device/lifetime/worker_ending.ts");
  const args = ["run", "-A", "--no-check", ...importMap(), program, "posting"];
  const { success, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
  if (success) run.count("workersTerminatedOpen");
  else run.fail(`a terminated Worker: ${new TextDecoder().decode(stderr)}`);
}
