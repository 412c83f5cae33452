// The small parts of the connections: checks, waits, deadlines, frames, and memory of the peer.
import { assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import { spy, stub } from "@std/testing/mock";
import { creditsOf, encodeFrame, FrameType, typeOf } from "../../../net/rc/frame.ts";
import { uint64 } from "../../../net/rc/remote_access.ts";
import { atomicPartOf, partOf } from "../../../net/rc/remote_memory.ts";
import {
  byteArray,
  checkSignal,
  copyMessage,
  integer,
  readObject,
  readSignal,
  text,
  type WaitOptions,
} from "../../../net/shared/checks.ts";
import { closeOnAbort } from "../../../net/shared/close_on_abort.ts";
import { Deadline } from "../../../net/shared/deadline.ts";
import { orAborted } from "../../../net/shared/or_aborted.ts";
import { Waiters } from "../../../net/shared/waiters.ts";

/** The checks with any argument, as callers without types have them. */
// deno-lint-ignore no-explicit-any
const any = (value: unknown): any => value;

/** A call, and what follows "Cannot use " in the message of its error. */
type Refusal = readonly [call: () => unknown, error: typeof TypeError, reason: string];

function assertRefused(refusals: readonly Refusal[]): void {
  for (const [call, error, reason] of refusals) {
    const found = assertThrows(call, error);
    assertEquals([found.constructor, found.message], [error, `Cannot use ${reason}`]);
  }
}

const LONG = "x".repeat(40);
const REFUSALS: readonly Refusal[] = [
  ...Object.entries({
    '"4"': "4",
    "3.5": 3.5,
    "null": null,
    "an array": [],
    "an object": {},
    "a function": any,
    "1": 1n,
  }).map(([shown, value]): Refusal => [
    () => integer(any(value), "n", 3, 5),
    TypeError,
    `n ${shown}: it is not an integer`,
  ]),
  [() => integer(2, "n", 3, 5), RangeError, "n 2: it is not within 3 to 5"],
  [() => integer(6, "n", 3, 5), RangeError, "n 6: it is not within 3 to 5"],
  [() => text(any(5), "t"), TypeError, "t 5: it is not a string"],
  ...Object.entries({
    '"x"': "x",
    [`"${LONG}"`]: LONG,
    [`"${LONG}..."`]: `${LONG}x`,
    '"\\u{9b}\\u{202e}"': "\x9b\u202e",
  }).map(([shown, value]): Refusal => [
    () => byteArray(any(value), "b"),
    TypeError,
    `b ${shown}: it is not a Uint8Array`,
  ]),
  [() => checkSignal(any({})), TypeError, "signal an object: it is not an AbortSignal"],
  [() => readSignal(any(null)), TypeError, "options null: it is not an object"],
  [() => readSignal(any("x")), TypeError, 'options "x": it is not an object'],
  [() => readSignal(any({ b: 1 })), TypeError, 'options: there is no property "b"'],
  [() => uint64(any(1), "n"), TypeError, "n: it is not a bigint"],
  [() => uint64(-1n, "n"), RangeError, "n -1: it does not fit 64 bits"],
  [() => uint64(2n ** 64n, "n"), RangeError, `n ${2n ** 64n}: it does not fit 64 bits`],
];

Deno.test("the checks of net refuse what they cannot use, and say what it was", () => {
  assertRefused(REFUSALS);
});

Deno.test("the checks of net give back what they can use", () => {
  const bytes = new Uint8Array(2);
  const { signal } = new AbortController();
  assertEquals([3, 4, 5].map((n) => integer(n, "n", 3, 5)), [3, 4, 5]);
  assertEquals([text("", "t"), uint64(0n, "n")], ["", 0n]);
  assertEquals(uint64(2n ** 64n - 1n, "n"), 2n ** 64n - 1n);
  assertStrictEquals(byteArray(bytes, "b"), bytes);
  for (const given of [undefined, {}, { signal: undefined }]) {
    assertStrictEquals(readSignal(given), undefined);
  }
  assertStrictEquals(readSignal({ signal }), signal);
});

Deno.test("readObject() reads each known property once, inherited ones too, and leaves out undefined", () => {
  let reads = 0;
  const source = Object.create({ signal: undefined });
  const counted = Object.defineProperty({} as WaitOptions, "signal", { get: () => ++reads });
  assertEquals(Object.keys(readObject<WaitOptions>(source, "options", ["signal"])), []);
  assertEquals({ ...readObject(counted, "options", ["signal"]) }, { signal: 1 } as unknown);
  assertEquals("toString" in readObject({}, "options", []), false);
});

Deno.test("copyMessage() copies to a place, and names a message that was transferred", () => {
  const memory = new Uint8Array(4);
  copyMessage(memory, Uint8Array.of(1, 2), 1);
  assertEquals(memory, Uint8Array.of(0, 1, 2, 0));
  const message = new Uint8Array(1);
  message.buffer.transfer();
  copyMessage(memory, Uint8Array.of(1, 2), 2);
  const long = () => copyMessage(memory, new Uint8Array(5), 0);
  assertThrows(long, TypeError, "Cannot send: the buffer of the message is detached");
});

Deno.test("frames carry a type and credits in the 32 bits of immediate data", () => {
  for (const type of Object.values(FrameType)) {
    for (const credits of [0, 1, 2 ** 15, 2 ** 28 - 1]) {
      const frame = encodeFrame(type, credits);
      assertEquals([typeOf(frame), creditsOf(frame)], [type, credits]);
    }
  }
  assertEquals(encodeFrame(FrameType.BYE, 3), 0x5000_0003);
  assertEquals([typeOf(0xffff_ffff), creditsOf(0xffff_ffff)], [15, 2 ** 28 - 1]);
  assertEquals(Object.values(FrameType), [1, 2, 3, 4, 5]);
});

const MEMORY = { addr: "0x1000", length: 64, rkey: 7 };
const TOP = { addr: "0xfffffffffffffff0", length: 64, rkey: 7 };

Deno.test("partOf() and atomicPartOf() find parts of the memory of the peer", () => {
  assertEquals(partOf(MEMORY, 0, 64), { remoteAddr: 0x1000n, rkey: 7 });
  assertEquals(partOf(MEMORY, 60, 4), { remoteAddr: 0x103cn, rkey: 7 });
  assertEquals(partOf(MEMORY, 64, 0), { remoteAddr: 0x1040n, rkey: 7 });
  assertEquals(partOf(TOP, 0, 16).remoteAddr, 0xffff_ffff_ffff_fff0n);
  assertEquals(partOf({ ...MEMORY, rkey: 0xffff_ffff }, 0, 1).rkey, 0xffff_ffff);
  assertEquals(atomicPartOf(MEMORY, 56), { remoteAddr: 0x1038n, rkey: 7 });
});

const ADDRS = [1, "x0x10", "0x10g", "0x", `0x${"1".repeat(17)}`];

const PARTS: readonly Refusal[] = [
  ...ADDRS.map((addr): Refusal => [
    () => partOf({ ...MEMORY, addr: any(addr) }, 0, 1),
    TypeError,
    "remote memory: its addr is not a hexadecimal address",
  ]),
  [() => partOf(any(3), 0, 1), TypeError, "remote memory 3: it is not an object"],
  [
    () => partOf(any({ ...MEMORY, size: 1 }), 0, 1),
    TypeError,
    'remote memory: there is no property "size"',
  ],
  [
    () => partOf({ ...MEMORY, rkey: -1 }, 0, 1),
    RangeError,
    "rkey of remote memory -1: it is not within 0 to 4294967295",
  ],
  [
    () => partOf({ ...MEMORY, length: -1 }, 0, 1),
    RangeError,
    "length of remote memory -1: it is not within 0 to 9007199254740991",
  ],
  [() => partOf(MEMORY, -1, 1), RangeError, "offset -1: it is not within 0 to 64"],
  [
    () => partOf(MEMORY, 61, 4),
    RangeError,
    "remote memory: it has 64 bytes, and 4 at 61 are not within it",
  ],
  [() => partOf(TOP, 0, 17), RangeError, "remote memory: it ends beyond the address space"],
  [
    () => atomicPartOf(MEMORY, 4),
    RangeError,
    "remote memory: the address at offset 4 is not a multiple of 8",
  ],
  [
    () => atomicPartOf(MEMORY, 57),
    RangeError,
    "remote memory: it has 64 bytes, and 8 at 57 are not within it",
  ],
];

Deno.test("partOf() and atomicPartOf() refuse memory that cannot be", () => assertRefused(PARTS));

Deno.test("Waiters serves those who wait in order, and each once", async () => {
  const waiters = new Waiters<{ name: string }, number>();
  const [a, b, c] = [{ name: "a" }, { name: "b" }, { name: "c" }];
  const waits = [a, b, c].map((waiter) => waiters.wait(waiter, undefined));
  assertEquals([waiters.size, waiters.first, waiters.all()], [3, a, [a, b, c]]);
  waiters.resolve(b, 2);
  waiters.reject(a, new Error("no"));
  assertEquals([waiters.size, waiters.first, waiters.all()], [1, c, [c]]);
  waiters.resolve(b, 5);
  waiters.reject({ name: "d" }, new Error("nobody"));
  assertEquals(waiters.all(), [c]);
  waiters.rejectAll(new Error("all"));
  assertEquals([waiters.size, waiters.first], [0, undefined]);
  await assertRejects(() => waits[0]!, Error, "no");
  assertEquals(await waits[1], 2);
  await assertRejects(() => waits[2]!, Error, "all");
});

Deno.test("Waiters ends a wait when its signal aborts, and forgets the signal when the wait ends", async () => {
  const waiters = new Waiters<object, number>();
  const abort = new AbortController();
  const { signal } = abort;
  const [early, late, served] = [{}, {}, {}].map((waiter) => ({
    waiter,
    wait: waiters.wait(waiter, signal),
  }));
  waiters.resolve(served!.waiter, 1);
  assertEquals(await served!.wait, 1);
  const reason = new Error("enough");
  abort.abort(reason);
  for (const { wait } of [early!, late!]) {
    assertStrictEquals(await assertRejects(() => wait, Error), reason);
  }
  assertStrictEquals(await assertRejects(() => waiters.wait({}, signal), Error), reason);
  assertEquals(waiters.size, 0);
});

Deno.test("Waiters refuses a signal that takes no listeners, and nobody waits then", async () => {
  const waiters = new Waiters<object, number>();
  const { signal } = new AbortController();
  signal.addEventListener = () => {
    throw new Error("no listeners");
  };
  await assertRejects(() => waiters.wait({}, signal), Error, "no listeners");
  assertEquals(waiters.size, 0);
});

/** Calls back with timers that only the test ends: their times and functions, without those cleared. */
function withTimers(use: (timers: Map<number, [ms: number, end: () => void]>) => void): void {
  const timers = new Map<number, [number, () => void]>();
  const start = (end: () => void, ms: number): number => {
    timers.set(timers.size + 1, [ms, end]);
    return timers.size;
  };
  using _start = stub(globalThis, "setTimeout", any(start));
  using _end = stub(globalThis, "clearTimeout", (id) => void timers.delete(id as number));
  use(timers);
}

Deno.test("Deadline aborts after its time with its message", () => {
  withTimers((timers) => {
    using deadline = new Deadline(1000, "too late", [undefined, new AbortController().signal]);
    const [[ms, end]] = [...timers.values()] as [[number, () => void]];
    assertEquals([ms, deadline.signal.aborted], [1000, false]);
    end();
    const { reason } = deadline.signal;
    assertEquals([reason instanceof Deno.errors.TimedOut, reason.message], [true, "too late"]);
  });
});

Deno.test("Deadline aborts with each of its signals, and not after it was disposed", () => {
  withTimers((timers) => {
    const reason = new Error("enough");
    const abort = new AbortController();
    const first = new Deadline(1, "too late", [undefined, abort.signal]);
    const disposed = new Deadline(1, "too late", [abort.signal]);
    disposed[Symbol.dispose]();
    assertEquals([...timers.keys()], [1]);
    abort.abort(reason);
    const after = new Deadline(1, "too late", [abort.signal]);
    assertEquals([first, after].map(({ signal }) => signal.reason), [reason, reason]);
    assertEquals(disposed.signal.aborted, false);
  });
});

Deno.test("orAborted() ends with the promise or with the signal, and leaves no listener", async () => {
  const { signal } = new AbortController();
  using added = spy(signal, "addEventListener");
  using removed = spy(signal, "removeEventListener");
  assertEquals(await orAborted(Promise.resolve(1), signal), 1);
  await assertRejects(() => orAborted(Promise.reject(new Error("no")), signal), Error, "no");
  assertEquals([added.calls.length, removed.calls.length], [2, 2]);
  assertEquals(await orAborted(Promise.resolve(2), undefined), 2);
  const never = new Promise<never>(() => {});
  const reason = new Error("enough");
  const aborted = orAborted(never, AbortSignal.abort(reason));
  assertStrictEquals(await assertRejects(() => aborted, Error), reason);
  const abort = new AbortController();
  const wait = orAborted(never, abort.signal);
  abort.abort(reason);
  assertStrictEquals(await assertRejects(() => wait, Error), reason);
});

Deno.test("orAborted() with a signal that throws leaves no rejection that nobody handles", async () => {
  const fail = (): never => {
    throw new RangeError("broken");
  };
  const broken: readonly PropertyDescriptorMap[] = [
    { aborted: { get: fail } },
    { addEventListener: { value: fail } },
  ];
  for (const properties of broken) {
    const signal = Object.defineProperties(new AbortController().signal, properties);
    const { promise, reject } = Promise.withResolvers<never>();
    await assertRejects(() => orAborted(promise, signal), RangeError, "broken");
    // The test runner takes a rejection that nobody handles for a failure.
    reject(new Error("late"));
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
});

Deno.test("closeOnAbort() closes once, whether that fails or not, and not what was closed before", () => {
  let closes = 0;
  const object = {
    close: () => {
      closes++;
      throw new Error("it cannot be closed");
    },
  };
  closeOnAbort(object, undefined, new AbortController().signal);
  const [abort, closed, other] = Array.from({ length: 3 }, () => new AbortController());
  closeOnAbort(object, abort!.signal, closed!.signal);
  closeOnAbort(object, abort!.signal, other!.signal);
  other!.abort();
  abort!.abort();
  abort!.signal.dispatchEvent(new Event("abort"));
  assertEquals(closes, 1);
});
