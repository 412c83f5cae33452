// Where errors come from: the line of the program is among the first of the stack, whatever the library does below it.

import { assert, assertEquals, assertMatch } from "@std/assert";
import * as recorder from "../provider/recorder.ts";
import { VerbsError } from "../../mod.ts";
import { runScript } from "../subprocess.ts";
import { idle } from "./registry/recorder_device.ts";
import {
  allCalls,
  type Call,
  callNamed,
  disposeResult,
  invoke,
  pathsOf,
  placeOf,
  type Prepared,
} from "./registry/calls.ts";
import { ObjectSet } from "./registry/object_set.ts";

const TESTS = new URL("..", import.meta.url).href;
const FAILURES = new URL("faults/messages.txt", import.meta.url);

/**
 * How many frames of the library may come before the line of the program: of a call that is awaited, and of another one, such
 * as that of a class which extends two others.
 */
const [AWAITED, AT_ONCE] = [2, 4];

/** How many frames of the library are before the line of the program. The event loop of Deno has frames too. */
function depthOf({ stack = "" }: Error): number {
  const frames = stack.split("\n").filter((line) => /^ +at (?!.*\(ext:)/.test(line));
  const depth = frames.findIndex((line) => line.includes(TESTS));
  return depth < 0 ? Infinity : depth;
}

/** The error of a call, if it is too deep. It is empty if there was nothing to spoil. */
async function deepError(
  call: Call,
  spoil: (args: unknown[]) => boolean,
): Promise<string | undefined> {
  recorder.reset();
  const set = new ObjectSet();
  try {
    const ready = await call.prepare(set);
    return spoil(ready.args) ? await deepErrorOf(call, ready) : "";
  } finally {
    await closed(set);
  }
}

async function deepErrorOf(call: Call, ready: Prepared): Promise<string | undefined> {
  let result: unknown;
  try {
    result = invoke(call, ready);
    disposeResult(await result);
    return undefined;
  } catch (error) {
    const most = result instanceof Promise ? AWAITED : AT_ONCE;
    assert(error instanceof Error);
    return depthOf(error) > most ? `${call.name}: ${error.stack}` : undefined;
  }
}

/** A verb that was to fail may not have been called before. */
async function closed(set: ObjectSet): Promise<void> {
  for (let tries = 0; tries < 3; tries++) {
    try {
      set.close();
    } catch (error) {
      assert(error instanceof VerbsError);
    }
  }
  await idle();
}

Deno.test("errors of verbs show the line of the program first", async () => {
  const EIO = 5;
  const deep: string[] = [];
  const lines = Deno.readTextFileSync(FAILURES).matchAll(/^(\S.*?): (\w+): /gm);
  for (const [, name, verb] of lines) {
    if (name!.endsWith(" closed")) continue;
    const found = await deepError(callNamed(name!), () => {
      recorder.fail(verb!, EIO, { times: 2 });
      return true;
    });
    if (found !== undefined) deep.push(found);
  }
  assertEquals(deep, []);
});

/** What a program does, and what Deno prints of it first. Nobody is there. */
const UNCAUGHT: readonly (readonly [line: string, message: string])[] = [
  [
    'const conn = await listenUd({ qkey: 1, device: "none" });',
    "there is no device",
  ],
  ['using context = Context.open("none");', "Cannot open device"],
  ["await connectRc({ tcpPort: 1 });", "nobody listens there"],
  ['await connectRc({ hostname: "127.0.0.1", port: 1 });', "Cannot"],
  ["await Promise.all([connectRc({ tcpPort: 1 })]);", "nobody listens there"],
  ["await listenRc({ tcpPort: -1 });", "Cannot use tcpPort -1"],
  ['await getAddrInfo("no.such.host.invalid", "1");', "Cannot"],
];

Deno.test("an error that nobody catches shows the line of the program among the first three", async () => {
  for (const [line, message] of UNCAUGHT) {
    const script = `import { Context } from MOD;
      import { connectRc, listenRc, listenUd } from "${import.meta.resolve("../../net/mod.ts")}";
      import { getAddrInfo } from "${import.meta.resolve("../../cm.ts")}";
      ${line}`;
    const { code, stderr } = await runScript(script);
    assertEquals(code, 1, stderr);
    assertMatch(stderr, new RegExp(`^error: Uncaught .*(${message})`), line);
    const frames = stderr.split("\n").filter((text) => /^ +at /.test(text));
    const own = frames.findIndex((frame) =>
      !/\/(net|types|wait|internal|ffi)\//.test(frame) && !frame.includes("Promise.all")
    );
    assert(own >= 0 && own < 3, stderr);
  }
});

Deno.test("errors of wrong arguments show the line of the program first", async () => {
  const deep: string[] = [];
  for (const call of allCalls()) {
    if (/^(cli|ffi)/.test(call.callable.module)) continue;
    for (let i = 0;; i++) {
      const found = await deepError(call, (args) => {
        const path = pathsOf(args)[i];
        if (path === undefined) return false;
        const [place, key] = placeOf(args, path);
        place[key] = Symbol("none");
        return true;
      });
      if (found === "") break;
      if (found !== undefined) deep.push(found);
    }
  }
  assertEquals(deep, []);
});
