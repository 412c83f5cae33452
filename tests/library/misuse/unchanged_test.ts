// A setter of prepared requests that throws has changed nothing, whatever the value is that it refuses.

import { assert, assertEquals } from "@std/assert";
// The recorder, before anything that calls a verb.
import * as recorder from "../../provider/recorder.ts";
import { nativeView } from "../../../ffi/mod.ts";
import { structs } from "../../../ffi/layout.ts";
import { RequestList, type WrBuilder } from "../../../mod.ts";
import { comparable } from "../../provider/records.ts";
import { nativeOf } from "../../../types/work/requests.ts";
import { readApi } from "../registry/api.ts";
import {
  type Call,
  callsOf,
  invoke,
  type Path,
  pathsOf,
  type Prepared,
} from "../registry/calls.ts";
import { World } from "../registry/world.ts";
import { TRAPS, VALUES } from "./values.ts";

/** A value of the caller's, put in a place of a valid call. */
interface Wrong {
  readonly call: Call;
  readonly path: Path;
  readonly what: string;
  /** Puts it there. */
  readonly put: (prepared: Prepared, world: World) => void;
}

type Place = Record<string | number, unknown>;

function wrongOf(call: Call, path: Path): Wrong[] {
  const put =
    (change: (place: Place, key: string | number, world: World) => void) =>
    ({ args }: Prepared, world: World): void => {
      const place = path.slice(0, -1).reduce(
        (place, key) => place[key] as Place,
        args as never as Place,
      );
      change(place, path.at(-1)!, world);
    };
  const values = Object.entries(VALUES).map(([what, hostile]): Wrong => ({
    call,
    path,
    what,
    put: put((place, key, world) => place[key] = hostile(place[key], world)),
  }));
  if (path.length === 1) return values;
  // Another call within a call may succeed, and changes the request then.
  const { "calls again": _, ...traps } = TRAPS;
  return [
    ...values,
    ...Object.entries(traps).map(([what, trap]): Wrong => ({
      call,
      path,
      what,
      put: put((place, key, world) => {
        const get = trap(place[key], world, () => {}, []);
        Object.defineProperty(place, key, { get, enumerable: true });
      }),
    })),
  ];
}

/** All that a list has: the bytes that native code reads, and what is known of them. */
function stateOf(list: RequestList): unknown[] {
  const native = nativeOf(list);
  const { words, given, ahs, binds = [], lengths, capacity, maxSge } = native;
  const sges = nativeView(native.sgeList(0), capacity * maxSge * structs.ibv_sge.size);
  const bytes = new Uint8Array(sges.buffer);
  return [words, bytes, given, ahs, binds, lengths].flatMap((values) => [...values]);
}

/** The list that a call changes. */
function listOf({ self }: Prepared): RequestList {
  assert(self instanceof RequestList);
  return self;
}

const LISTS: ReadonlySet<string> = new Set(["RequestList", "RecvRequestList", "SendRequestList"]);

function changesList({ callable: { owner, kind } }: Call): boolean {
  return kind === "method" && LISTS.has(owner!);
}

/** Looks at what a call shall not change. What it returns looks again, and throws if it has changed. */
type Look = (prepared: Prepared, call: Call, what: string) => () => void;

/** Makes each wrong call. Tells how many were refused, and which of these have changed what is looked at. */
async function refuse(
  calls: readonly Call[],
  look: Look,
): Promise<{ refused: number; changed: string[] }> {
  let refused = 0;
  const changed: string[] = [];
  for (const call of calls) {
    for (const { path, what, put } of await wrongCalls(call)) {
      recorder.reset();
      using world = new World();
      const prepared = await call.prepare(world);
      const assertSame = look(prepared, call, what);
      put(prepared, world);
      try {
        invoke(call, prepared);
        continue;
      } catch {
        refused++;
      }
      try {
        assertSame();
      } catch {
        changed.push(`${call.name}: ${path.join(".")} ${what}`);
      }
    }
  }
  return { refused, changed };
}

async function wrongCalls(call: Call): Promise<Wrong[]> {
  recorder.reset();
  using world = new World();
  const { args } = await call.prepare(world);
  return pathsOf(args).flatMap((path) => wrongOf(call, path));
}

const calls = callsOf(readApi());

Deno.test("A setter of a list of requests that throws has changed nothing", async () => {
  const setters = calls.filter(changesList);
  assert(setters.length > 15, `${setters.length} setters`);
  const { refused, changed } = await refuse(setters, (prepared) => {
    const list = listOf(prepared);
    const before = stateOf(list);
    return () => assertEquals(stateOf(list), before);
  });
  console.log(`${refused} calls were refused`);
  assertEquals(changed, []);
  assert(refused > 5000);
});

/** What a builder posts, or why it does not. */
function postedBy({ self }: Prepared): unknown {
  recorder.take();
  try {
    (self as WrBuilder).complete();
  } catch (error) {
    return String(error);
  }
  return comparable(recorder.take());
}

Deno.test("A method of a builder of requests that throws has changed nothing", async () => {
  const setters = calls.filter(({ callable: { owner, kind }, name }) =>
    owner === "WrBuilder" && kind === "method" && name !== "WrBuilder#complete"
  );
  assert(setters.length > 15, `${setters.length} setters`);
  const expected = new Map<Call, unknown>();
  for (const call of setters) {
    recorder.reset();
    using world = new World();
    expected.set(call, postedBy(await call.prepare(world)));
  }
  const { refused, changed } = await refuse(setters, (prepared, call, what) => () => {
    // A queue pair that is disposed posts nothing.
    if (what.endsWith("closes the device")) return;
    assertEquals(postedBy(prepared), expected.get(call));
  });
  console.log(`${refused} calls were refused`);
  assertEquals(changed, []);
  assert(refused > 500);
});
