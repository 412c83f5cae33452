// Each function of librdmacm fails in each valid call that calls it. messages.txt has what is thrown; after a wanted change run
// this file with IBVERBS_PRINT=1: it writes them anew.

import { assert, assertEquals } from "@std/assert";
import { errnoName } from "../../../ffi/errno.ts";
import { VerbsError } from "../../../mod.ts";
import * as recorder from "../../provider/recorder.ts";
import { isNamed } from "../refusals.ts";
import { readApi } from "../registry/api.ts";
import { idle } from "../registry/bed.ts";
import { type Call, callsOf, disposeResult, invoke } from "../registry/calls.ts";
import { World } from "../registry/world.ts";
import { fakesLeft } from "./fake.ts";

const FILE = new URL("messages.txt", import.meta.url);
/** The last errno of Linux (EHWPOISON); a few numbers before it have no error. */
const LAST_ERRNO = 133;
const ERRNOS = Array.from({ length: LAST_ERRNO }, (_, i) => i + 1)
  .filter((errno) => errnoName(errno).startsWith("E"));

const calls = callsOf((readApi()).filter(({ module }) => module === "cm.ts"));

interface Ended {
  /** The functions of librdmacm that the call itself called. */
  readonly called: readonly string[];
  readonly error: unknown;
}

/** Makes a valid call, in which a function fails if one is given. */
async function make(call: Call, failing?: string, errno = 0): Promise<Ended> {
  recorder.reset();
  const world = new World();
  try {
    const { cmNet } = world;
    const prepared = await call.prepare(world);
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
    world.close();
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

/** What a call says it could not do when a function fails, and for which errors it says more. */
async function failuresOf(call: Call, name: string): Promise<string[]> {
  const lines = new Map<string, string[]>();
  for (const errno of ERRNOS) {
    const code = errnoName(errno);
    const note = (line: string): unknown => lines.getOrInsert(line, []).push(code);
    const errors = allOf((await make(call, name, errno)).error);
    if (errors.length === 0) note("it goes on");
    for (const error of errors) {
      assert(error instanceof VerbsError && isNamed(error.message), `${error}`);
      assertEquals([error.verb, error.errno], [`rdma_${name}`, errno]);
      note(error.message.replace(/: rdma_\w+ gave \w+ \([^)]*\)/, ""));
    }
  }
  return Array.from(lines, ([line, codes]) => `  ${codes.length > 99 ? "any" : codes}: ${line}`);
}

Deno.test("Each function of librdmacm that fails is named with what could not be done", async () => {
  const before = fakesLeft();
  const lines: string[] = [];
  for (const call of calls) {
    const { called, error } = await make(call);
    assertEquals(error, undefined, call.name);
    for (const name of new Set(called)) {
      lines.push(`${call.name}, ${name}:`, ...await failuresOf(call, name));
    }
  }
  assertEquals(fakesLeft(), before);
  const text = `${lines.join("\n")}\n`;
  if (Deno.env.get("IBVERBS_PRINT") === "1") await Deno.writeTextFile(FILE, text);
  assertEquals(text, await Deno.readTextFile(FILE));
});
