// Hostile values.

import type { ObjectSet } from "../registry/object_set.ts";
import { Resource } from "../../../mod.ts";

/** The error that getters throw. */
export class Boom extends Error {
  override readonly name = "Boom";
}

/** Makes a value that takes the place of a valid one. */
export type Hostile = (original: unknown, set: ObjectSet) => unknown;

/** A buffer that was transferred. */
function detached(): Uint8Array {
  const bytes = new Uint8Array(64);
  bytes.buffer.transfer();
  return bytes;
}

/** A class hierarchy lets `instanceof` pass, but there is no object behind it. */
function forged(original: unknown): unknown {
  return Object.create(Object.getPrototypeOf(Object(original)));
}

/** Like {@linkcode forged}, with all that can be read of the valid value. */
function copied(original: unknown): unknown {
  const copy = Object(forged(original));
  const chain: object[] = [];
  for (
    let o = Object(original);
    o !== Object.prototype && o !== null;
    o = Object.getPrototypeOf(o)
  ) {
    chain.push(o);
  }
  for (const name of chain.flatMap((o) => Object.getOwnPropertyNames(o))) {
    if (name === "constructor" || Object.hasOwn(copy, name)) continue;
    const value = valueOf(original, name);
    if (typeof value !== "function") Object.defineProperty(copy, name, { value });
  }
  return copy;
}

function valueOf(original: unknown, name: string): unknown {
  try {
    return (original as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}

function disposed(original: unknown): unknown {
  if (original instanceof Resource) original.close();
  return original;
}

function revoked(original: unknown): unknown {
  const { proxy, revoke } = Proxy.revocable(Object(original), {});
  revoke();
  return proxy;
}

/** An array whose length is another one each time. */
function growing(original: unknown): unknown {
  let length = 0;
  const list = Array.isArray(original) ? original : [original];
  return new Proxy(list, {
    get: (target, key) =>
      key === "length" ? length++ : Reflect.get(target, typeof key === "string" ? "0" : key),
  });
}

function lengthOf(length: number): Hostile {
  return (original) => {
    const list = Array.isArray(original) ? original : [original];
    return new Proxy(list, {
      get: (target, key) => key === "length" ? length : Reflect.get(target, key),
    });
  };
}

/** Text and numbers are taken as they are; this does something when it is converted. */
function convertible(convert: () => unknown): object {
  return { [Symbol.toPrimitive]: convert, valueOf: convert, toString: convert };
}

/** Bytes whose properties claim more memory than there is. */
class LargeBytes extends Uint8Array<ArrayBuffer> {
  override get length(): number {
    return 2 ** 20;
  }
  override get byteLength(): number {
    return 2 ** 20;
  }
  override get byteOffset(): number {
    return 0;
  }
  override get buffer(): ArrayBuffer {
    return new ArrayBuffer(8);
  }
}

/** The same as own properties, as anybody can add them. */
function enlarged(original: unknown): unknown {
  const bytes = original instanceof Uint8Array ? original : new Uint8Array(64);
  for (const name of ["length", "byteLength"]) {
    Object.defineProperty(bytes, name, { value: 2 ** 20 });
  }
  return bytes;
}

/** What arrives in a Worker. */
function cloned(original: unknown): unknown {
  try {
    return structuredClone(original);
  } catch {
    return {};
  }
}

/** Numbers at which something changes, by their names. */
const NUMBERS = [
  ...["0", "-0", "1", "-1", "0.5", "NaN", "Infinity", "95", "2^20", "2^24", "2^31-1", "2^31"],
  ...["2^32-1", "2^32", "-2^31", "2^53-1", "2^53"],
];

function numberOf(text: string): number {
  const [, sign, exponent, less] = /^(-?)2\^(\d+)(-1)?$/.exec(text) ?? [];
  if (exponent === undefined) return Number(text);
  return (sign === "-" ? -1 : 1) * 2 ** Number(exponent) - (less === undefined ? 0 : 1);
}

/** What takes the place of any valid value. */
export const VALUES: Readonly<Record<string, Hostile>> = {
  undefined: () => undefined,
  null: () => null,
  true: () => true,
  ...Object.fromEntries(NUMBERS.map((text) => [text, () => numberOf(text)])),
  "2^64 as number": () => 2 ** 64,
  "-2^63": () => -(2n ** 63n),
  "-1n": () => -1n,
  "2^32 as bigint": () => 2n ** 32n,
  "2^64-1": () => 2n ** 64n - 1n,
  "2^64": () => 2n ** 64n,
  "empty text": () => "",
  "number as text": () => "1",
  "name of a prototype": () => "__proto__",
  "long text": () => "x".repeat(100_000),
  "text with NUL": () => "recorder0\0",
  symbol: () => Symbol("s"),
  function: () => () => 1,
  "empty object": () => ({}),
  "object without prototype": () => Object.create(null),
  "number that throws": () => ({
    valueOf: () => {
      throw new Boom();
    },
  }),
  "number that closes the device": (_, set) =>
    convertible(() => {
      set.close();
      return 1;
    }),
  "boxed number": () => Object(1),
  "empty array": () => [],
  "array of null": () => [null],
  "array of itself": () => {
    const list: unknown[] = [];
    list.push(list);
    return list;
  },
  "array of holes": () => new Array(3),
  "longest array": () => new Array(2 ** 32 - 1),
  "array of 1e5": (original) =>
    new Array(100_000).fill(Array.isArray(original) ? original[0] : original),
  "growing array": growing,
  "array of length NaN": lengthOf(NaN),
  "array of length -1": lengthOf(-1),
  "array of length 2^32": lengthOf(2 ** 32),
  "array of length 0.5": lengthOf(0.5),
  date: () => new Date(NaN),
  "empty bytes": () => new Uint8Array(0),
  "detached bytes": detached,
  "transferred buffer": () => detached().buffer,
  "resizable buffer": () => new ArrayBuffer(16, { maxByteLength: 4096 }),
  "resizable bytes": () => new Uint8Array(new ArrayBuffer(16, { maxByteLength: 4096 })),
  "bytes of a shrunk buffer": () => {
    const buffer = new ArrayBuffer(4096, { maxByteLength: 8192 });
    const bytes = new Uint8Array(buffer, 4000, 40);
    buffer.resize(16);
    return bytes;
  },
  "shared buffer": () => new SharedArrayBuffer(16),
  "bytes of a subclass": () => new LargeBytes(new ArrayBuffer(8)),
  "bytes with another length": enlarged,
  "shared bytes": () => new Uint8Array(new SharedArrayBuffer(16)),
  "growable shared buffer": () => new SharedArrayBuffer(16, { maxByteLength: 64 }),
  "wide array": () => new Float64Array(4),
  "view of 1": () => new DataView(new ArrayBuffer(1)),
  cloned,
  forged: forged,
  copied: copied,
  proxy: (original) => new Proxy(Object(original), {}),
  "proxy without properties": (original) => new Proxy(Object(original), { get: () => undefined }),
  "proxy that throws": (original) =>
    new Proxy(Object(original), {
      get: () => {
        throw new Boom();
      },
    }),
  "revoked proxy": revoked,
  "proxy that closes the device": (original, set) =>
    new Proxy(Object(original), {
      get: (target, key) => {
        set.close();
        return Reflect.get(target, key);
      },
    }),
  "another class": (_, { channel }) => channel,
  "a protection domain": (_, { pd }) => pd,
  disposed: disposed,
};

/** What a method is called on. An object of another class is no such value: only the type checker keeps it away. */
export const RECEIVER_VALUES: Readonly<Record<string, Hostile>> = {
  undefined: () => undefined,
  "1": () => 1,
  "an empty object": () => ({}),
  cloned,
  forged,
  copied,
  "a proxy": (original) => new Proxy(Object(original), {}),
};

/** What a getter does before it gives the valid value. It has the place of an attribute of `args`. */
export type Trap = (
  value: unknown,
  set: ObjectSet,
  again: () => unknown,
  args: readonly unknown[],
) => () => unknown;

/** Transfers the buffers of values; those that are registered refuse. */
export function transferAll(values: readonly unknown[]): void {
  for (const buffer of buffersOf(values)) {
    try {
      buffer.transfer();
    } catch {
      // Its memory stays where it is.
    }
  }
}

function buffersOf(values: readonly unknown[]): ArrayBuffer[] {
  const found = new Set<ArrayBuffer>();
  const look = (value: unknown, depth: number): void => {
    if (ArrayBuffer.isView(value)) value = value.buffer;
    if (value instanceof ArrayBuffer) found.add(value);
    if (typeof value !== "object" || value === null || depth > 3) return;
    for (const { value: inner } of Object.values(Object.getOwnPropertyDescriptors(value))) {
      look(inner, depth + 1);
    }
  };
  for (const value of values) look(value, 0);
  return [...found].filter((buffer) => !buffer.detached);
}

/** What happens to a signal before the call that gets it, and before it aborts. */
export type SignalUse = (abort: AbortController, set: ObjectSet, again: () => unknown) => unknown;

/** Before the call. */
export const SIGNALS: Readonly<Record<string, SignalUse>> = {
  "has aborted": (abort) => abort.abort(new Boom()),
  "has aborted without a reason": (abort) => abort.abort(),
  "calls again when it aborts": ({ signal }, _, again) => {
    signal.addEventListener("abort", () => again());
  },
  "closes the device when it aborts": ({ signal }, set) => {
    signal.addEventListener("abort", () => set.close());
  },
};

/** After the call. */
export const LATER: Readonly<Record<string, SignalUse>> = {
  "aborts right after": (abort) => abort.abort(new Boom()),
  "aborts a turn later": (abort) => setTimeout(() => abort.abort(new Boom()), 0),
  "aborts when the device was closed": (abort, set) => {
    set.close();
    abort.abort(new Boom());
  },
};

/** Getters that misbehave. */
export const TRAPS: Readonly<Record<string, Trap>> = {
  throws: () => () => {
    throw new Boom();
  },
  "answers once": (value) => {
    let reads = 0;
    return () => reads++ === 0 ? value : undefined;
  },
  "answers differently": (value) => {
    let reads = 0;
    return () => reads++ === 0 ? value : reads;
  },
  "answers late": (value) => {
    let reads = 0;
    return () => reads++ === 0 ? undefined : value;
  },
  "calls again": (value, _, again) => {
    let depth = 0;
    return () => {
      if (depth++ < 3) again();
      return value;
    };
  },
  "closes the device": (value, set) => () => {
    set.close();
    return value;
  },
  "transfers all buffers": (value, set, _, args) => () => {
    transferAll([...args, set.buffer]);
    return value;
  },
};
