/**
 * Deep equality as @std/assert understands it.
 *
 * `node:assert` cannot stand in: it tells 0 from -0, and it finds two
 * instances with different private state equal, because it never reads getters.
 *
 * @module
 */

const typedArrayPrototype = Object.getPrototypeOf(Uint8Array.prototype);

/** Classes whose state shows in their text alone. */
const textualClasses: ReadonlySet<unknown> = new Set([
  RegExp,
  URL,
  URLSearchParams,
]);

/** Tells whether two values are deeply equal. */
export function equal(a: unknown, b: unknown): boolean {
  return new Comparison().same(a, b);
}

type Pair = [a: unknown, b: unknown];

class Comparison {
  /** The pairs under comparison, so that cyclic values end. */
  readonly #seen = new Map<object, object>();

  same(a: unknown, b: unknown): boolean {
    if (a === b || Object.is(a, b)) return true;
    if (!isObject(a) || !isObject(b)) return false;
    if (a instanceof Date && b instanceof Date) {
      return Object.is(a.getTime(), b.getTime());
    }
    return sharePrototype(a, b) && this.#sameKind(a, b);
  }

  #sameKind(a: object, b: object): boolean {
    if (a instanceof WeakMap || a instanceof WeakSet) {
      throw new TypeError("Cannot compare weak collections");
    }
    if (a instanceof WeakRef) {
      return this.same(a.deref(), (b as WeakRef<object>).deref());
    }
    if (isBuffer(a)) return sameBytes(a, b as ArrayBuffer);
    if (isTypedArray(a)) return sameElements(a, b as Uint8Array);
    if (this.#seen.get(a) === b) return true;
    if (Object.keys(a).length !== Object.keys(b).length) return false;
    this.#seen.set(a, b);
    if (a instanceof Set) return this.#sameSet(a, b as Set<unknown>);
    if (a instanceof Map) return this.#sameMap(a, b as Map<unknown, unknown>);
    if (textualClasses.has(a.constructor)) return String(a) === String(b);
    return this.#sameProperties(a, b);
  }

  #sameSet(a: Set<unknown>, b: Set<unknown>): boolean {
    if (a.size !== b.size) return false;
    if ([...a].every(isPrimitive)) return a.isSubsetOf(b);
    return this.#eachMatched(pairs(a), pairs(b));
  }

  #sameMap(a: Map<unknown, unknown>, b: Map<unknown, unknown>): boolean {
    if (a.size !== b.size) return false;
    if (![...a.keys()].every(isPrimitive)) {
      return this.#eachMatched([...a], [...b]);
    }
    return [...a].every(([key, value]) => b.has(key) && this.same(value, b.get(key)));
  }

  #eachMatched(a: Pair[], b: Pair[]): boolean {
    return a.every((one) =>
      b.some((other) => this.same(one[0], other[0]) && this.same(one[1], other[1]))
    );
  }

  #sameProperties(a: object, b: object): boolean {
    const keys = isPlain(a)
      ? new Set(Reflect.ownKeys({ ...a, ...b }))
      : reachableKeys(a).union(reachableKeys(b));
    for (const key of keys) {
      if (key in a !== key in b) return false;
      if (!this.same(Reflect.get(a, key), Reflect.get(b, key))) return false;
    }
    return true;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function isPrimitive(value: unknown): boolean {
  return !isObject(value) && typeof value !== "function";
}

function isBuffer(value: object): value is ArrayBufferLike {
  return value instanceof ArrayBuffer || value instanceof SharedArrayBuffer;
}

/** The element type does not matter once the prototypes are known to agree. */
function isTypedArray(value: object): value is Uint8Array {
  return Object.prototype.isPrototypeOf.call(typedArrayPrototype, value);
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype ||
    prototype === Array.prototype;
}

function sharePrototype(a: object, b: object): boolean {
  return prototypeOf(a) === prototypeOf(b);
}

/** An object without a prototype counts as a plain one. */
function prototypeOf(value: object): object {
  return Object.getPrototypeOf(value) ?? Object.prototype;
}

function sameBytes(a: ArrayBufferLike, b: ArrayBufferLike): boolean {
  return sameElements(new Uint8Array(a), new Uint8Array(b));
}

function sameElements(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length &&
    a.every((element, i) => element === b[i] || Object.is(element, b[i]));
}

function pairs(set: Set<unknown>): Pair[] {
  return [...set].map((value) => [value, value]);
}

/** Own and inherited names: the getters of a class are where its state shows. */
function reachableKeys(value: object): Set<PropertyKey> {
  const keys = new Set<PropertyKey>();
  for (
    let level: object | null = value;
    level !== null && level !== Object.prototype && level !== Array.prototype;
    level = Object.getPrototypeOf(level)
  ) {
    for (const key of Reflect.ownKeys(level)) keys.add(key);
  }
  return keys;
}
