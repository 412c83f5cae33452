// Hostile values.

import type { World } from "./world.ts";
import { Resource } from "../../../mod.ts";

/** The error that getters throw. */
export class Boom extends Error {
  override readonly name = "Boom";
}

/** Makes a value that takes the place of a valid one. */
export type Hostile = (original: unknown, world: World) => unknown;

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

/** A resource that claims to be open. */
function liar(original: unknown): unknown {
  if (original instanceof Resource) {
    original.close();
    Object.defineProperty(original, "disposed", { value: false });
  }
  return original;
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

/** What takes the place of any valid value. */
export const VALUES: Readonly<Record<string, Hostile>> = {
  undefined: () => undefined,
  null: () => null,
  true: () => true,
  "0": () => 0,
  "1": () => 1,
  "-1": () => -1,
  "0.5": () => 0.5,
  NaN: () => NaN,
  Infinity: () => Infinity,
  "95": () => 95,
  "2^20": () => 2 ** 20,
  "2^24": () => 2 ** 24,
  "2^31-1": () => 2 ** 31 - 1,
  "2^31": () => 2 ** 31,
  "2^32-1": () => 2 ** 32 - 1,
  "2^32": () => 2 ** 32,
  "2^53-1": () => 2 ** 53 - 1,
  "2^53": () => 2 ** 53,
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
  "shared bytes": () => new Uint8Array(new SharedArrayBuffer(16)),
  "growable shared buffer": () => new SharedArrayBuffer(16, { maxByteLength: 64 }),
  "wide array": () => new Float64Array(4),
  "view of 1": () => new DataView(new ArrayBuffer(1)),
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
  "another class": (_, { channel }) => channel,
  "a protection domain": (_, { pd }) => pd,
  disposed: disposed,
  liar: liar,
};

/** What a getter does before it gives the valid value. It has the place of an attribute. */
export type Trap = (value: unknown, world: World, again: () => unknown) => () => unknown;

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
  "closes the device": (value, world) => () => {
    world.close();
    return value;
  },
};
