/** Fields of headers: a header that has a table of fields needs no code of its own. */

import { Gid } from "@rdma/ibverbs";
import { hex } from "../shell/text.ts";
import { type Row, row } from "./section.ts";

/** How a number is shown: hexadecimal by default; a function gives it in words. */
export type Form = "count" | "bytes" | "flag" | "gid" | "ipv4" | ((value: number) => string);

/** A field: its name, the byte and the bit in it where it starts, and its bits. */
export type Field = readonly [name: string, byte: number, bit: number, bits: number, form?: Form];

/** The fields of a header that starts at a byte. */
export function fieldRows(view: DataView, at: number, fields: readonly Field[]): Row[] {
  return fields.map((field) => fieldRow(view, at, field));
}

function fieldRow(view: DataView, at: number, [name, byte, bit, bits, form]: Field): Row {
  const start = at + byte;
  if (form === "gid") return row(name, String(new Gid(bytesAt(view, start, 16))));
  if (form === "ipv4") return row(name, bytesAt(view, start, 4).join("."));
  const value = bitsAt(view, start, bit, bits);
  if (form === "flag") return row(name, value === 1n);
  const [number, digits] = [Number(value), hex(value, Math.ceil(bits / 4))];
  if (form === undefined) return row(name, bits > 32 ? digits : number, digits);
  if (form === "count") return row(name, number);
  return row(name, number, form === "bytes" ? `${number} bytes` : form(number));
}

/** A form that shows a number with its meaning. */
export function withWords(words: Readonly<Record<number, string>>, other = "not known"): Form {
  return (value) => `${value} (${words[value] ?? other})`;
}

/** An unsigned number. Bit 0 of a byte is its highest one. */
export function bitsAt(view: DataView, byte: number, bit: number, bits: number): bigint {
  let value = 0n;
  const size = Math.ceil((bit + bits) / 8);
  for (let i = 0; i < size; i++) value = value << 8n | BigInt(view.getUint8(byte + i));
  return BigInt.asUintN(bits, value >> BigInt(8 * size - bit - bits));
}

/** A copy of some bytes. */
export function bytesAt(view: DataView, at: number, size: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(view.buffer, view.byteOffset + at, size).slice();
}
