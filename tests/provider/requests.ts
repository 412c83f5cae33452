// The same requests made in C, through the inlines of the real header, to compare with those of the classes.

import { assertEquals } from "@std/assert";
import { requestsPath } from "./compile.ts";
import { type Call, comparable, parseCalls } from "./records.ts";

const program = await requestsPath();

async function printed(args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`Cannot make request in C: ${decoder.decode(stderr)}`);
  return decoder.decode(stdout);
}

/** The names of the requests in C. Those of valid calls are the names of these. */
export async function requestNames(): Promise<string[]> {
  return (await printed([])).trimEnd().split("\n");
}

/**
 * Asserts that calls are those that C makes for a request, in every byte. Calls of other verbs do not count, nor do
 * addresses: which object or buffer they are of does.
 */
export async function assertSameAsInC(calls: readonly Call[], request: string): Promise<void> {
  const inC = parseCalls(await printed([request]));
  const verbs = new Set(inC.map(({ verb }) => verb));
  const ours = calls.filter(({ verb }) => verbs.has(verb));
  assertEquals(comparable(ours), comparable(inC), request);
}
