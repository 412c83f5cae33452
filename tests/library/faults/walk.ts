// Lets each verb of the valid calls fail with one errno, and collects what the errors say. As a program it prints that: for
// limits that a process has from its start.

import { assert, assertRejects } from "@std/assert";
import { library } from "../../../ffi/library.ts";
import { VerbsError } from "../../../mod.ts";
import * as recorder from "../../provider/recorder.ts";
import { idle } from "../registry/recorder_device.ts";
import { callNamed, invoke } from "../registry/calls.ts";
import { ObjectSet } from "../registry/object_set.ts";

/** A call, and the verb of it that fails. */
export interface Tried {
  readonly name: string;
  readonly verb: string;
}

const FILE = new URL("messages.txt", import.meta.url);

/** The calls of messages.txt, and the verbs that fail in them. */
export const TRIED: readonly Tried[] = Deno.readTextFileSync(FILE).split("\n").flatMap((line) => {
  const [, name, verb] = /^(\S.*?): (\w+):/.exec(line) ?? [];
  return name === undefined || name.endsWith(" closed") ? [] : [{ name, verb: verb! }];
});

/** How the device answers questions while the verb fails. */
export type Answers = Readonly<
  Partial<Record<Parameters<typeof recorder.answer>[0], Readonly<Record<string, number>>>>
>;

/** Without thunks a verb that failed on another thread is called once more on this one, for its errno. */
export function times(name: string): number {
  return /\.create|Async$/.test(name) && !library().thunks ? 2 : 1;
}

/** The hint of a verb that fails in a call; `undefined` if it has none. */
export async function hintOf(
  { name, verb }: Tried,
  errno: number,
  answers: Answers = {},
): Promise<string | undefined> {
  recorder.reset();
  const set = new ObjectSet();
  try {
    const call = callNamed(name);
    const ready = await call.prepare(set);
    for (const [query, fields] of Object.entries(answers)) recorder.answer(query as never, fields);
    // What the recorder answers by itself for this verb is -1.
    const result = verb === "ibv_poll_cq" ? { result: BigInt(-errno) } : {};
    recorder.fail(verb, errno, { times: times(name), ...result });
    const error = await assertRejects(async () => await invoke(call, ready));
    assert(error instanceof VerbsError, `${name}: ${error}`);
    return error.hint;
  } finally {
    set.close();
    await idle();
  }
}

if (import.meta.main) {
  const errno = Number(Deno.args[0]);
  const hints: Record<string, string | undefined> = {};
  for (const tried of TRIED) hints[`${tried.name}: ${tried.verb}`] = await hintOf(tried, errno);
  console.log(JSON.stringify(hints));
}
