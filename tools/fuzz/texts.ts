/** Text and bytes from outside: addresses, GRHs and packets. */

import { structs } from "../../ffi/layout.ts";
import { readField } from "../../ffi/struct.ts";
import { CommandError } from "../../cli/shell/command.ts";
import { explainParts, readPart } from "../../cli/explain.ts";
import { readHex } from "../../cli/explain/hex_input.ts";
import { sectionLines, sectionValues } from "../../cli/explain/section.ts";
import { formatAddress, Gid, Grh, parseAddress } from "../../mod.ts";
import { recorder } from "../../cli/tests/pure/terminal.ts";
import { hasIpv4Checksum } from "../../types/address/grh.ts";
import { addressText, bytes, hostileText, mutated } from "./inputs.ts";
import { expected, fc, isHarmless, NONE, same, type Target, target } from "./target.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

// The C library's own reading and writing of addresses.
let opened: Deno.DynamicLibrary<typeof LIBC> | undefined;
const LIBC = {
  inet_pton: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  inet_ntop: { parameters: ["i32", "buffer", "buffer", "u32"], result: "pointer" },
} as const;
const libc = (): Deno.DynamicLibrary<typeof LIBC>["symbols"] =>
  (opened ??= Deno.dlopen("libc.so.6", LIBC)).symbols;
const [AF_INET, AF_INET6] = [2, 10];
function checkAddressText(text: string): void {
  const family = text.includes(":") ? AF_INET6 : AF_INET;
  const theirs = new Uint8Array(16);
  // A string of C ends at its first NUL.
  const valid = !text.includes("\0") &&
    libc().inet_pton(family, encoder.encode(`${text}\0`), theirs) === 1;
  let ours: Uint8Array | undefined;
  try {
    ours = parseAddress(text);
  } catch (error) {
    expected(error, SyntaxError);
  }
  same(ours, valid ? theirs.subarray(0, family === AF_INET ? 4 : 16) : undefined, "parseAddress()");
  if (ours !== undefined) same(new Gid(Gid.parse(text).bytes).equals(Gid.parse(text)), true, "Gid");
}

function checkAddressBytes(bytes: Uint8Array<ArrayBuffer>): void {
  const text = new Uint8Array(64);
  libc().inet_ntop(bytes.length === 4 ? AF_INET : AF_INET6, bytes, text, text.length);
  const theirs = decoder.decode(text.subarray(0, text.indexOf(0)));
  same(formatAddress(bytes), theirs, "formatAddress()");
  same(parseAddress(theirs), bytes, "parseAddress() of what formatAddress() gives");
}
const [v6, v4] = [0x60, 0x45].map((first) =>
  bytes(40).map((grh) => grh.fill(first, first === 0x60 ? 0 : 20, first === 0x60 ? 1 : 21))
) as [fc.Arbitrary<Uint8Array<ArrayBuffer>>, fc.Arbitrary<Uint8Array<ArrayBuffer>>];
const both = v6.map((grh) => grh.fill(0x45, 20, 21));
const grhBytes = fc.oneof(bytes(40), bytes(0, 80), v6, v4, both, mutated(v6), mutated(v4));

function checkGrh(bytes: Uint8Array<ArrayBuffer>): void {
  let grh: Grh;
  try {
    grh = new Grh(bytes);
  } catch (error) {
    expected(error, RangeError);
    return same(bytes.length < Grh.SIZE, true, "a GRH is refused");
  }
  const raw = bytes.slice(0, Grh.SIZE);
  same(grh.bytes, raw, "bytes");
  const ipv4 = raw[20]! >> 4 === 4;
  const ipv6 = raw[0]! >> 4 === 6;
  const isIpv4 = ipv6 ? raw[20]! % 16 === 5 && hasIpv4Checksum(new DataView(raw.buffer)) : ipv4;
  same(grh.ipVersion, isIpv4 ? 4 : ipv6 ? 6 : undefined, "ipVersion");
  const { fields } = structs.ibv_grh;
  const view = new DataView(raw.buffer);
  const word = readField(view, fields.version_tclass_flow);
  same([grh.trafficClass, grh.flowLabel], [word >>> 20 & 255, word % 2 ** 20], "first word");
  same([grh.paylen, grh.nextHdr, grh.hopLimit], [raw[4]! * 256 + raw[5]!, raw[6], raw[7]], "rest");
  const mapped = (at: number): string => `::ffff:${raw.slice(at, at + 4).join(".")}`;
  const [source, destination] = isIpv4
    ? [mapped(32), mapped(36)]
    : [formatAddress(raw.slice(8, 24)), formatAddress(raw.slice(24, 40))];
  same([grh.sgid.toString(), grh.dgid.toString()], [source, destination], "GIDs");
  same(isHarmless(Deno.inspect(grh)), true, "console.log");
}

const type = fc.constantFrom("0800", "86dd", "8915", "8100").map(Uint8Array.fromHex);
const ethernet = fc.tuple(bytes(12), type, grhBytes, bytes(0, 60))
  .map((parts) => new Uint8Array(parts.flatMap((part) => [...part])));
const udp = fc.tuple(bytes(20), bytes(0, 60)).map(([header, rest]) => {
  const ip = header.fill(0x45, 0, 1).fill(17, 9, 10);
  return new Uint8Array([...ip, 0xc0, 0, 0x12, 0xb7, 0, rest.length + 8, 0, 0, ...rest]);
});
const packet = fc.oneof(ethernet, udp, mutated(udp), grhBytes, bytes(structs.ibv_wc.size));
const hex = fc.string({ unit: fc.constantFrom(..."0123456789abcdef x:,\n\t0x"), maxLength: 200 });
const pasted = fc.oneof(packet.map((bytes) => bytes.toHex()), hex, hostileText);

function checkExplained(
  texts: string[],
  as: "grh" | "completion" | "packet" | undefined,
): void {
  const printed = recorder();
  try {
    const sections = explainParts(texts.map((text) => readPart(readHex(text), as))).sections;
    printed.terminal.print(sectionLines(sections));
    printed.terminal.printJson(sectionValues(sections));
  } catch (error) {
    printed.terminal.printError(expected(error, CommandError).message);
  }
  same(isHarmless(printed.out + printed.err), true, "what is printed");
}

const address = fc.oneof(
  bytes(4),
  bytes(16),
  bytes(16).map((bytes) => bytes.fill(0, 0, 10).fill(255, 10, 12)),
  bytes(16).map((all) => all.map((byte) => byte < 160 ? 0 : byte)),
);
const explained = [
  fc.array(pasted, { minLength: 1, maxLength: 3 }),
  fc.constantFrom(undefined, undefined, "grh", "completion", "packet"),
] as const;

export const TEXTS: readonly Target[] = [
  target(
    "address-text",
    [49, 69],
    "addresses against inet_pton()",
    [addressText],
    checkAddressText,
  ),
  target("address-bytes", NONE, "addresses against inet_ntop()", [address], checkAddressBytes),
  target("grh", [7, 27], "Grh against the bytes themselves", [grhBytes], checkGrh),
  target("explain", [84, 99], "cli explain of text and packets", explained, checkExplained),
];
