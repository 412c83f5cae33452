// Where errors come from: the line of the program is among the first three of the stack, whatever the library does below.

import { assertEquals } from "@std/assert";
import * as recorder from "../provider/recorder.ts";
import { idle } from "./registry/bed.ts";
import { allCalls, type Call, invoke, pathsOf, placeOf } from "./registry/calls.ts";
import { World } from "./registry/world.ts";

const HERE = new URL("..", import.meta.url).href;
const LINES = 3;

/** The place of the first line of the program in a stack, counted from 0. */
function placeIn({ stack = "" }: Error): number {
  const frames = stack.split("\n").filter((line) => /^ +at /.test(line));
  const place = frames.findIndex((line) => line.includes(HERE));
  return place < 0 ? frames.length : place;
}

/** Calls with each value replaced by one that none is. The result is where the program is, by the errors. */
async function placesOf(call: Call): Promise<[string, number][]> {
  const found: [string, number][] = [];
  for (let i = 0;; i++) {
    recorder.reset();
    using world = new World();
    const ready = await call.prepare(world);
    const path = pathsOf(ready.args)[i];
    if (path === undefined) break;
    const [place, key] = placeOf(ready.args, path);
    try {
      place[key] = Symbol("none");
      await invoke(call, ready);
    } catch (error) {
      if (error instanceof Error) found.push([`${call.name} ${path.join(".")}: ${error.stack!.split("\n").slice(0, 12).join("\n")}`, placeIn(error)]);
    }
    world.close();
    await idle();
  }
  return found;
}

Deno.test("errors show the line of the program among the first three of their stacks", async () => {
  const late: string[] = [];
  const counts: Record<string, number> = {};
  for (const call of allCalls()) {
    if (call.callable.module === "cli/mod.ts" || call.callable.module === "ffi/mod.ts") continue;
    for (const [what, place] of await placesOf(call)) {
      counts[place] = (counts[place] ?? 0) + 1;
      if (place >= LINES) late.push(what);
    }
  }
  console.log(counts);
  await Deno.writeTextFile("/tmp/k6/late.txt", late.join("\n\n"));
  assertEquals(late.length, 0);
});
