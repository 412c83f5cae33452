// Each function of librdmacm fails in each valid call that calls it. messages.txt has what is thrown; after a wanted change run
// this file with IBVERBS_PRINT=1: it writes them anew.

import { assert, assertEquals } from "@std/assert";
import { VerbsError } from "../../../mod.ts";
import * as recorder from "../../provider/recorder.ts";
import { ERRNOS, linesOf } from "../faults/lines.ts";
import { isNamed } from "../refusals.ts";
import { idle } from "../registry/recorder_device.ts";
import { allCalls, type Call, disposeResult, invoke } from "../registry/calls.ts";
import { ObjectSet } from "../registry/object_set.ts";
import { fakesLeft } from "./fake.ts";

const FILE = new URL("messages.txt", import.meta.url);
const calls = allCalls().filter(({ callable: { module } }) => module === "cm.ts");

interface Ended {
  /** The functions of librdmacm that the call itself called. */
  readonly called: readonly string[];
  readonly error: unknown;
}

/** Makes a valid call, in which a function fails if one is given. */
async function make(call: Call, failing?: string, errno = 0): Promise<Ended> {
  recorder.reset();
  const set = new ObjectSet();
  try {
    const { cmNet } = set;
    const prepared = await call.prepare(set);
    cmNet.takeCalls();
    if (failing !== undefined) cmNet.fail(`rdma_${failing}`, errno);
    let error: unknown;
    try {
      disposeResult(await invoke(call, prepared));
    } catch (thrown) {
      error = thrown;
    }
    return { called: cmNet.takeCalls(), error };
  } finally {
    set.close();
    await idle();
  }
}

/** The function fails again when what the call has made is closed. */
function allOf(error: unknown): unknown[] {
  if (error === undefined) return [];
  return error instanceof SuppressedError
    ? [...allOf(error.suppressed), ...allOf(error.error)]
    : [error];
}

/** What users see when a function fails in a call. */
async function failuresOf(call: Call, name: string): Promise<string> {
  const errors: VerbsError[] = [];
  for (const [code, errno] of ERRNOS) {
    for (const error of allOf((await make(call, name, errno)).error)) {
      assert(error instanceof VerbsError && isNamed(error.message), `${error}`);
      assertEquals([error.verb, error.code, error.errno], [`rdma_${name}`, code, errno]);
      errors.push(error);
    }
  }
  const lines = errors.length === 0 ? ["it goes on"] : linesOf(errors);
  return `${call.name}: ${name}: ${lines.join("\n  ")}`;
}

Deno.test("Each function of librdmacm that fails is named with what could not be done", async () => {
  const before = fakesLeft();
  const lines: string[] = [];
  for (const call of calls) {
    const { called, error } = await make(call);
    assertEquals(error, undefined, call.name);
    for (const name of new Set(called)) {
      lines.push(await failuresOf(call, name));
    }
  }
  assertEquals(fakesLeft(), before);
  const text = `${lines.join("\n")}\n`;
  if (Deno.env.get("IBVERBS_PRINT") === "1") await Deno.writeTextFile(FILE, text);
  assertEquals(text, await Deno.readTextFile(FILE));
});
