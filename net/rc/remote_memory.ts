import { textOf } from "../../internal/texts.ts";
import { partsOf } from "../../internal/made.ts";
import type { MemoryRegion, RemoteMemory } from "../../mod.ts";
import { integer, noneOf, snapshot, uint32 } from "../../internal/checks.ts";

export interface RemotePart {
  readonly remoteAddr: bigint;
  readonly rkey: number;
}

/** The parts of exposed memory. */
export interface Exposed {
  readonly mr: MemoryRegion;
  readonly closed: () => void;
}

/**
 * Memory that the peer may use. `RcConn.expose` makes it. Closing it ends the
 * rights of the peer.
 *
 * @category Memory of the peer
 */
export class ExposedMemory implements Disposable {
  /** What the peer needs to use the memory. */
  readonly remote: RemoteMemory;
  readonly #mr: MemoryRegion;
  readonly #closed: () => void;

  /** @ignore Made by `RcConn.expose`. */
  constructor(exposed: "RcConn.expose() shares memory") {
    const { mr, closed } = partsOf<Exposed>(
      exposed,
      "ExposedMemory",
      "RcConn.expose() shares memory",
    );
    this.#mr = mr;
    this.#closed = closed;
    this.remote = mr.remote;
  }

  /**
   * The bytes. The peer may change them at any time.
   *
   * @throws {TypeError} If it is closed.
   */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#mr.bytes;
  }

  /** Ends the rights of the peer. What the peer does with the memory afterwards breaks its connection. */
  close(): void {
    this.#mr.close();
    this.#closed();
  }

  /** Ends the rights of the peer, as `ExposedMemory.close` does. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** What the peer needs, on one line. */
  toString(): string {
    return textOf("ExposedMemory", { ...this.remote });
  }

  /** The same for `console.log`. */
  [Symbol.for("Deno.customInspect")](): string {
    return this.toString();
  }
}

export const ATOMIC_SIZE = 8;

const ADDR = /^0x[0-9a-f]{1,16}$/;

/** Where a part of memory of the peer begins. */
export interface RemotePlace {
  /** The address of the memory. */
  readonly addr: bigint;
  readonly rkey: number;
  /** The bytes of the memory. */
  readonly size: number;
  readonly offset: number;
}

/**
 * Reads the description of memory of the peer, and where a part of it begins.
 *
 * @throws {TypeError} If a property is missing, unknown or of the wrong type.
 * @throws {RangeError} If a number is out of range.
 */
export function placeIn(memory: RemoteMemory, offset: number): RemotePlace {
  if (memory instanceof ExposedMemory) {
    throw new TypeError("Cannot use remote memory: it is an ExposedMemory: give its `remote`");
  }
  if (ArrayBuffer.isView(memory)) {
    throw noneOf(memory, "remote memory", "; send() and receive() are for messages");
  }
  const given = snapshot(memory, "remote memory", ["addr", "length", "rkey"]);
  const { addr } = given;
  if (typeof addr !== "string" || !ADDR.test(addr)) {
    throw new TypeError("Cannot use remote memory: its addr is not a hexadecimal address");
  }
  const rkey = uint32(given.rkey, "rkey of remote memory");
  const size = integer(given.length, "length of remote memory", 0, Number.MAX_SAFE_INTEGER);
  return { addr: BigInt(addr), rkey, size, offset: integer(offset, "offset", 0, size) };
}

/**
 * Finds a part of memory of the peer.
 *
 * @throws {RangeError} If it is not within the memory.
 */
export function partOf({ addr, rkey, size, offset }: RemotePlace, length: number): RemotePart {
  if (length > size - offset) {
    throw new RangeError(
      `Cannot use remote memory: it has ${size} bytes, and ${length} at ${offset} are not within it`,
    );
  }
  const remoteAddr = addr + BigInt(offset);
  if (remoteAddr + BigInt(length) > 2n ** 64n) {
    throw new RangeError("Cannot use remote memory: it ends beyond the address space");
  }
  return { remoteAddr, rkey };
}

/**
 * Finds the 8 bytes of an atomic in memory of the peer.
 *
 * @throws As `placeIn` and `partOf`; {RangeError} if the address is not a multiple of 8.
 */
export function atomicPartOf(memory: RemoteMemory, offset: number): RemotePart {
  const part = partOf(placeIn(memory, offset), ATOMIC_SIZE);
  if (part.remoteAddr % BigInt(ATOMIC_SIZE) === 0n) return part;
  throw new RangeError(
    `Cannot use remote memory: the address at offset ${offset} is not a multiple of ${ATOMIC_SIZE}`,
  );
}
