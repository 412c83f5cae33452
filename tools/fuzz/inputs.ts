/** Inputs that several targets need. */

import { formatAddress, Gid } from "../../mod.ts";
import { fc } from "./target.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function bytes(min: number, max: number = min): fc.Arbitrary<Uint8Array<ArrayBuffer>> {
  return fc.uint8Array({ minLength: min, maxLength: max, size: "max" })
    .map((bytes) => new Uint8Array(bytes));
}

/** A change to a sequence of bytes. */
type Edit = (bytes: number[]) => number[];

const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.tuple(fc.nat(), fc.nat(7)).map(([at, bit]): Edit => (bytes) =>
    bytes.with(at % bytes.length, bytes[at % bytes.length]! ^ 1 << bit)
  ),
  fc.tuple(fc.nat(), fc.nat(255)).map(([at, byte]): Edit => (bytes) =>
    bytes.with(at % bytes.length, byte)
  ),
  fc.tuple(fc.nat(), fc.array(fc.nat(255), { maxLength: 8 })).map(([at, more]): Edit => (bytes) =>
    bytes.toSpliced(at % bytes.length, 0, ...more)
  ),
  fc.tuple(fc.nat(), fc.nat(8)).map(([at, count]): Edit => (bytes) =>
    bytes.toSpliced(at % bytes.length, count)
  ),
  fc.nat().map((at): Edit => (bytes) => bytes.slice(0, at % bytes.length)),
  fc.nat().map((at): Edit => (bytes) => [...bytes, ...bytes.slice(at % bytes.length)]),
);

/** Bytes that differ from good ones in a few places: changed, added, left out, or cut off. */
export function mutated(
  good: fc.Arbitrary<Uint8Array<ArrayBuffer>>,
): fc.Arbitrary<Uint8Array<ArrayBuffer>> {
  return fc.tuple(good, fc.array(edit, { maxLength: 4 })).map(([bytes, edits]) =>
    new Uint8Array(edits.reduce((all, edit) => all.length === 0 ? all : edit(all), [...bytes]))
  );
}

/** Text with what a terminal obeys in it. */
export const hostileText: fc.Arbitrary<string> = fc.array(
  fc.oneof(
    fc.constantFrom("\x1b[2J", "\x1b]0;x\x07", "\u009b31m", "\r", "\u202e", "\u2028", "\0", "\x7f"),
    fc.string({ unit: "binary", maxLength: 8 }),
    fc.string({ maxLength: 8 }),
  ),
  { maxLength: 6 },
).map((parts) => parts.join(""));

/** A value that is wrong nearly everywhere. */
export const wrong: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(
    ...[null, NaN, -1, -0.5, 1.5, Infinity, 2 ** 32, 2 ** 53, 2n ** 64n, -1n, 1n, "", "1", true],
    ...[[], {}, Symbol("x"), () => 1, new Uint8Array(0), new Date(0)],
  ),
  fc.anything(),
  fc.integer(),
  fc.bigInt(),
  hostileText,
);

const digitGroup = fc.oneof(
  fc.nat(0x1ffff).map((group) => group.toString(16)),
  fc.constantFrom("", "0", "ffff", "1.2.3.4", "00001", "g"),
);
/** Texts of IP addresses, and what looks like them. */
export const addressText: fc.Arbitrary<string> = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.array(fc.nat(300), { minLength: 3, maxLength: 5 }).map((parts) => parts.join(".")),
  fc.array(digitGroup, { minLength: 1, maxLength: 10 }).map((groups) => groups.join(":")),
  fc.oneof(fc.ipV4(), fc.ipV6(), bytes(16).map(formatAddress)).chain((text) =>
    mutated(fc.constant(encoder.encode(text))).map((bytes) => decoder.decode(bytes))
  ),
  hostileText,
);

export const endpoint = fc.record({
  lid: fc.nat(0xffff),
  qpn: fc.nat(0xff_ffff),
  psn: fc.nat(0xff_ffff),
  gid: bytes(16).map((bytes) => new Gid(bytes)),
});

/** What an end of a connection says of itself. */
export function rcAddress(gid: fc.Arbitrary<string>): fc.Arbitrary<Record<string, unknown>> {
  return fc.record({
    transport: fc.constant("RC"),
    gid,
    lid: fc.nat(0xffff),
    qpNum: fc.nat(0xff_ffff),
    psn: fc.nat(0xff_ffff),
    mtu: fc.constantFrom(256, 512, 1024, 2048, 4096),
    rdAtomic: fc.nat(255),
    credits: fc.integer({ min: 1, max: 2 ** 15 }),
    maxMessage: fc.integer({ min: 1, max: 2 ** 24 }),
  });
}

/** Records, many with a wrong part, and what is none. */
export function spoiled(good: fc.Arbitrary<Record<string, unknown>>): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 2, arbitrary: good },
    fc.tuple(good, fc.nat(), wrong).map(([record, which, value]) => {
      const names = [...Object.keys(record), "other"];
      return { ...record, [names[which % names.length]!]: value };
    }),
    fc.jsonValue(),
    wrong,
  );
}

export function jsonLine(value: unknown): Uint8Array<ArrayBuffer> {
  const plain = (_: string, part: unknown): unknown =>
    typeof part === "bigint" ? String(part) : part;
  return encoder.encode(`${JSON.stringify(value, plain)}\n`);
}
