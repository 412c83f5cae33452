/** What kind of thread this code runs on. */

import { once } from "../internal/runtime.ts";
import { callThrough, type FunctionPointer } from "./function_pointer.ts";
import { functionAddress } from "./libc.ts";

/** What is used of the `process` of Node. */
interface Process {
  chdir(directory: unknown): void;
  getBuiltinModule(name: "node:worker_threads"): { readonly isMainThread?: boolean };
}

/** Whether this is the first thread of the process, whose memory goes away with the process only. */
export const isFirstThread: () => boolean = once(() => {
  const address = functionAddress("gettid");
  // glibc has it since version 2.30.
  if (address === 0n) return false;
  const pointer = Deno.UnsafePointer.create(address) as FunctionPointer;
  return callThrough(pointer, { parameters: [], result: "i32" })() === Deno.pid;
});

/**
 * Whether buffers of this thread exist until the program has ended and disposed what it left open. A Worker can be
 * terminated at any time, which frees its buffers and disposes nothing. If this is not certain, it is false.
 */
export const keepsBuffers: () => boolean = once(() => isFirstThread() || isOfProgram());

/** `deno test` and `deno bench` run programs on a thread other than the first one. */
function isOfProgram(): boolean {
  if ("WorkerGlobalScope" in globalThis) return false;
  const { process } = globalThis as { process?: Process };
  // Deno sets up its modules for Node here, which costs as much as starting does.
  const isMain = process?.getBuiltinModule("node:worker_threads").isMainThread;
  return isMain === true && mayChangeFolder(process!);
}

/**
 * Workers of any kind share the current folder of the process, and may not change it. A symbol is no path, so nothing
 * changes.
 */
function mayChangeFolder(process: Process): boolean {
  try {
    process.chdir(Symbol());
  } catch (error) {
    const isRefused = (error as { code?: string }).code === "ERR_WORKER_UNSUPPORTED_OPERATION";
    return error instanceof TypeError && !isRefused;
  }
  return false;
}
