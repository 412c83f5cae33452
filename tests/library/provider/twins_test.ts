// The requests that valid calls make, compared with those of C in every byte. The C program names the calls.
import { assertEquals, assertGreater } from "@std/assert";
import { Resource } from "../../../mod.ts";
import * as recorder from "../../provider/recorder.ts";
import { requestsPath } from "../../provider/compile.ts";
import { type Call, comparable, parseCalls } from "../../provider/records.ts";
import { idle } from "../registry/bed.ts";
import { callNamed, invoke } from "../registry/calls.ts";
import { World } from "../registry/world.ts";

const program = await requestsPath();
const calls = (await printed([])).trimEnd().split("\n");

async function printed(args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`Cannot make request in C: ${decoder.decode(stderr)}`);
  return decoder.decode(stdout);
}

/** Calls of other verbs do not count, nor do addresses: which object or buffer they are of does. */
async function assertSameAsInC(calls: readonly Call[], request: string): Promise<void> {
  const inC = parseCalls(await printed([request]));
  const verbs = new Set(inC.map(({ verb }) => verb));
  const ours = calls.filter(({ verb }) => verbs.has(verb));
  assertEquals(comparable(ours), comparable(inC), request);
}

for (const name of calls) {
  Deno.test(`The request of ${name} is that of C in every byte`, async () => {
    recorder.reset();
    const world = new World();
    // What the C program has from the start: objects are told by their numbers.
    world.mr.bytes().set(Uint8Array.from({ length: 4096 }, (_, i) => i));
    void world.cq;
    const call = callNamed(name);
    const prepared = await call.prepare(world);
    recorder.take();
    const made = await invoke(call, prepared);
    const requests = recorder.take();
    if (made instanceof Resource) made.close();
    world.close();
    await idle();
    await assertSameAsInC(requests, name);
  });
}

Deno.test("The C program has a request for each struct", () => assertGreater(calls.length, 60));
