// The same requests made in C, through the inlines of the real header, to compare with those of the classes.

import { assertEquals } from "@std/assert";
import { requestsPath } from "./compile.ts";
import { type Call, comparable, parseCalls } from "./records.ts";

const program = await requestsPath();

/** The calls that a C program makes for a request; its name is that of a row in `c/requests/`. */
export async function requestInC(name: string): Promise<Call[]> {
  const command = new Deno.Command(program, { args: [name] });
  const { success, stdout, stderr } = await command.output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`Cannot make request in C: ${decoder.decode(stderr)}`);
  return parseCalls(decoder.decode(stdout));
}

/**
 * Asserts that calls are those that C makes for a request, in every byte. Calls of other verbs do not count, nor do
 * addresses: which object or buffer they are of does.
 */
export async function assertSameAsInC(calls: readonly Call[], request: string): Promise<void> {
  const inC = await requestInC(request);
  const verbs = new Set(inC.map(({ verb }) => verb));
  const ours = calls.filter(({ verb }) => verbs.has(verb));
  assertEquals(comparable(ours), comparable(inC), request);
}
