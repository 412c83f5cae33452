// The memory of the peer, and copies of messages.
import { assertEquals, assertThrows } from "@std/assert";
import {
  atomicPartOf,
  partOf as partAt,
  placeIn,
  type RemotePart,
} from "../../../net/rc/remote_memory.ts";
import type { RemoteMemory } from "../../../mod.ts";
import { copyBytes } from "../../../internal/checks.ts";

/** The checks with any argument, as callers without types have them. */
// deno-lint-ignore no-explicit-any
const any = (value: unknown): any => value;

const partOf = (memory: RemoteMemory, offset: number, length: number): RemotePart =>
  partAt(placeIn(memory, offset), length);

/** A call, and what follows "Cannot use " in the message of its error. */
type Refusal = readonly [call: () => unknown, error: typeof TypeError, reason: string];

function assertRefused(refusals: readonly Refusal[]): void {
  for (const [call, error, reason] of refusals) {
    const found = assertThrows(call, error);
    assertEquals([found.constructor, found.message], [error, `Cannot use ${reason}`]);
  }
}

Deno.test("copyBytes() copies to a place, and names a message that was transferred", () => {
  const memory = new Uint8Array(4);
  copyBytes(memory, Uint8Array.of(1, 2), 1);
  assertEquals(memory, Uint8Array.of(0, 1, 2, 0));
  const message = new Uint8Array(1);
  message.buffer.transfer();
  copyBytes(memory, Uint8Array.of(1, 2), 2);
  const long = () => copyBytes(memory, new Uint8Array(5), 0);
  assertThrows(long, TypeError, "Cannot send: the buffer of the message is detached");
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
  [
    () => partOf(any(3), 0, 1),
    TypeError,
    "remote memory 3: it is not an object with addr, length, rkey",
  ],
  [
    () => partOf(any(new Uint8Array(8)), 0, 1),
    TypeError,
    "remote memory: a Uint8Array has none of the attributes; send() and receive() are for messages",
  ],
  [
    () => partOf(any({ ...MEMORY, size: 1 }), 0, 1),
    TypeError,
    'remote memory: there is no attribute "size"',
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
