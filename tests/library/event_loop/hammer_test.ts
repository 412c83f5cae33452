// No loop over calls of the library that end at once keeps timers from running, whether they succeed or fail.

import { assertEquals, assertGreater } from "@std/assert";
import type { CmEvent } from "../../../cm.ts";
import { settled } from "../../../wait/descriptors.ts";
import { listenUd } from "../../../net/mod.ts";
import * as recorder from "../../provider/recorder.ts";
import { DEVICE, idle } from "../registry/recorder_device.ts";
import {
  allCalls,
  begin,
  type Call,
  disposeResult,
  isIteration,
  type Prepared,
} from "../registry/calls.ts";
import { ObjectSet } from "../registry/object_set.ts";

/** The processor time of this thread in milliseconds. */
function processorMs(): number {
  return Number(Deno.readTextFileSync("/proc/thread-self/schedstat").split(" ")[0]) / 1e6;
}

/** Calls until a timer fires. Returns for how much longer the thread was busy, in milliseconds. */
async function hammer(call: () => unknown, milliseconds: number): Promise<number> {
  const start = processorMs();
  let end: number | undefined;
  const timer = setTimeout(() => end = processorMs(), milliseconds);
  // Far more than the limit: the loop ends, and the test tells it.
  while (end === undefined && processorMs() - start < milliseconds + 2000) await call();
  clearTimeout(timer);
  return (end ?? Infinity) - start - milliseconds;
}

/** A loop that keeps timers from running does so for seconds. A busy machine takes some of this time for itself. */
const LIMIT_MS = 200;

/** Thrown by calls that give no promise. */
class Synchronous extends Error {}

async function first(iterable: AsyncIterable<unknown>): Promise<void> {
  for await (const value of iterable) {
    disposeResult(value);
    // A request for a connection, which would fill the backlog.
    return disposeResult((value as Partial<CmEvent>).id);
  }
}

/** Makes a call that gives a promise, or takes the first step of an iteration. */
function make(call: Call, prepared: Prepared): Promise<void> {
  const result = begin(call, prepared);
  if (isIteration(call, result)) return first(result);
  if (result instanceof Promise) return result.then(disposeResult);
  disposeResult(result);
  throw new Synchronous();
}

/** Calls that cannot be made again on the same objects, or wait for what the peer does. */
const ONCE =
  /^CmId#(resolve(Addr|Route)|connect|accept)$|^UdConn#join$|^RcConn#(send|write)$|^RcListener#(accept|\[Symbol.asyncIterator\])$/;

/** They refuse their arguments before they take a turn: no program ignores a TypeError in a loop. */
const TAKES_NO_TURN = /#(getCqEvent|events|close|receiveMany)$/;

const calls = allCalls().filter(({ callable: { module, kind } }) =>
  !/^(cli|ffi|testing)/.test(module) && !/getter|inspect/.test(kind)
);

/** Hammers each of the calls that give promises, with objects of its own. `ready` gives what is done again and again. */
async function hammerAll(
  some: readonly Call[],
  milliseconds: number,
  ready: (call: Call, set: ObjectSet) => Promise<() => Promise<void>>,
): Promise<void> {
  let tried = 0;
  for (const call of some) {
    recorder.reset();
    const set = new ObjectSet();
    try {
      const late = await hammer(await ready(call, set), milliseconds);
      assertGreater(LIMIT_MS, late, `${call.name}: ms that a timer is late`);
      tried++;
    } catch (error) {
      if (!(error instanceof Synchronous)) throw error;
    } finally {
      set.close();
      await idle();
    }
  }
  assertGreater(tried, 30);
  // Ends when no other thread waits any more.
  await settled();
}

Deno.test("A loop over valid calls lets a timer fire", async () => {
  const often = calls.filter(({ name }) => !ONCE.test(name));
  await hammerAll(
    often,
    50,
    (call, set) => Promise.resolve(async () => await make(call, await call.prepare(set))),
  );
});

Deno.test("A loop over calls that fail lets a timer fire", async () => {
  const failing = calls.filter(({ name }) => !TAKES_NO_TURN.test(name));
  await hammerAll(failing, 5, async (call, set) => {
    // Once: what a call that fails does not use up, such as a message to receive, is not prepared again.
    const { self, args } = await call.prepare(set);
    if (args.length === 0) throw new Synchronous();
    return async () => {
      let made: Promise<void>;
      try {
        made = make(call, { self, args: args.map(() => null) });
      } catch {
        throw new Synchronous();
      }
      await made.catch(() => {});
    };
  });
});

/** Calls that end at once, or never, with these options and in this state. */
const ROWS: Readonly<Record<string, (set: ObjectSet, signal: AbortSignal) => Promise<unknown>>> = {
  "completions() that polls": ({ cq }, signal) =>
    first(cq.completions({ signal, spinMicroseconds: 1000 })),
  "receive() that polls": async (_, signal) => {
    await using conn = await listenUd({ device: DEVICE, qkey: 7, spinMicroseconds: 1000 });
    await conn.receive({ signal });
  },
  "sendMany() of much": async (_, signal) => {
    await using conn = await listenUd({ device: DEVICE, qkey: 7 });
    const many = Array.from({ length: 5000 }, () => [Uint8Array.of(1), conn.addr] as const);
    while (!signal.aborted) await conn.sendMany(many, { signal });
  },
  "the iteration of a closed listener": async (set, signal) => {
    const listener = await set.listener();
    listener.close();
    while (!signal.aborted) await first(listener);
  },
};

for (const [what, use] of Object.entries(ROWS)) {
  Deno.test(`A loop over ${what} lets a timer fire`, async () => {
    recorder.reset();
    recorder.connect();
    const abort = new AbortController();
    const set = new ObjectSet();
    const timer = setTimeout(() => abort.abort(), 50);
    const start = processorMs();
    await use(set, abort.signal).catch((error) => assertEquals(error, abort.signal.reason));
    assertGreater(50 + LIMIT_MS, processorMs() - start);
    clearTimeout(timer);
    set.close();
    await idle();
    await settled();
  });
}

Deno.test("Thousands of messages that wait for credits let a timer fire", async () => {
  recorder.reset();
  recorder.connect();
  const set = new ObjectSet();
  const conn = await set.rcConn();
  const ends = Promise.allSettled(Array.from({ length: 8000 }, () => conn.send(Uint8Array.of(1))));
  const start = processorMs();
  await new Promise((resolve) => setTimeout(resolve, 50));
  assertGreater(LIMIT_MS, processorMs() - start);
  set.close();
  await ends;
  await idle();
  await settled();
});
