// What calls everything public that a program can await, as fast as it goes, while a timer runs.

import { assertGreater, assertRejects } from "@std/assert";
import { runDeno } from "../../subprocess.ts";
import { stdArguments } from "../../../tools/host/jsr.ts";

/** A call of one public method or function. It ends at once, or waits for a peer or a device. */
export type Call = (signal: AbortSignal) => Promise<unknown>;

/** The processor time of this thread in milliseconds. */
function processorMs(): number {
  return Number(Deno.readTextFileSync("/proc/thread-self/schedstat").split(" ")[0]) / 1e6;
}

/** Calls until a timer of 50 ms fires, which takes less than 100 ms of processor time. */
export async function hammer(call: Call, takesSignal: boolean): Promise<void> {
  const abort = new AbortController();
  const reason = new Error("the timer has fired");
  const begin = performance.now();
  const start = processorMs();
  let end = 0;
  setTimeout(() => {
    end = processorMs();
    abort.abort(reason);
  }, 50);
  while (!abort.signal.aborted) {
    await call(abort.signal).catch(ignore(takesSignal ? reason : undefined));
    // Far more than the limit: the loop ends, and the test tells it.
    if (performance.now() - begin > 10_000) throw new Error("No timer has fired for 10 s");
  }
  assertGreater(100, end - start, "ms of processor time until a timer of 50 ms fires");
  if (takesSignal) await assertRejects(() => call(abort.signal), Error, reason.message);
}

/** A loop of a program may go on after an error. */
function ignore(reason: Error | undefined): (error: unknown) => void {
  return (error) => {
    if (error === reason || error instanceof Expected) return;
    throw error;
  };
}

/** An error that a row expects. */
export class Expected extends Error {}

/** A call that fails each time. */
export function failing(call: Call): Call {
  return async (signal) => {
    let failure: unknown;
    await call(signal).catch((error) => failure = error);
    if (failure === undefined) throw new Error("The call has not failed");
    throw new Expected();
  };
}

/** Everything of the entry points that gives a promise or an asynchronous iterator. */
export async function awaitables(sources: readonly string[]): Promise<string[]> {
  const names = await Promise.all(sources.map(async (source) => {
    const args = ["doc", "--quiet", "--json", ...await stdArguments(), source];
    const { code, stdout, stderr } = await runDeno(args);
    if (code !== 0) throw new Error(stderr);
    const [page] = Object.values(JSON.parse(stdout).nodes) as [Page];
    return page.symbols.flatMap(({ name, declarations }) =>
      declarations.flatMap(({ kind, def }) => {
        if (kind === "function") return isAwaitable(def.returnType) ? [name] : [];
        if (kind !== "class") return [];
        return (def.methods ?? []).filter(({ functionDef }) => isAwaitable(functionDef.returnType))
          .map((method) => `${name}.${method.name}`);
      })
    );
  }));
  return [...new Set(names.flat())].sort();
}

interface Page {
  readonly symbols: readonly {
    readonly name: string;
    readonly declarations: readonly { readonly kind: string; readonly def: Definition }[];
  }[];
}

interface Definition {
  readonly returnType?: { readonly repr: string };
  readonly methods?: readonly { readonly name: string; readonly functionDef: Definition }[];
}

function isAwaitable(type: Definition["returnType"]): boolean {
  return /^(Promise|Async|Completions)/.test(type?.repr ?? "");
}
