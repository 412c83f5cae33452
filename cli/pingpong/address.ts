/**
 * The addresses that the ibv_*_pingpong tools send each other: 52 bytes of text each, with a final NUL.
 *
 * @module
 */

import { Gid } from "../../mod.ts";
import { quote } from "../command.ts";

/** The address of a queue pair. */
export interface Address {
  /** LID of the port. It is 0 on RoCE. */
  readonly lid: number;
  /** Queue pair number, 24 bits. */
  readonly qpn: number;
  /** First packet sequence number, 24 bits. */
  readonly psn: number;
  /** GID of the port. It is all zero if no GID index was given. */
  readonly gid: Gid;
}

/** Size of an address in bytes. */
export const ADDRESS_SIZE = 52;

const PATTERN = /^([0-9a-f]{4}):([0-9a-f]{6}):([0-9a-f]{6}):([0-9a-f]{32})\0$/i;

/** Writes an address. */
export function encodeAddress({ lid, qpn, psn, gid }: Address): Uint8Array<ArrayBuffer> {
  const numbers = [hex(lid, 4), hex(qpn, 6), hex(psn, 6)];
  return new TextEncoder().encode(`${[...numbers, gid.bytes.toHex()].join(":")}\0`);
}

/**
 * Reads an address.
 *
 * @throws {SyntaxError} If the bytes are not an address.
 */
export function decodeAddress(bytes: Uint8Array): Address {
  const text = new TextDecoder().decode(bytes);
  const match = PATTERN.exec(text);
  if (bytes.length !== ADDRESS_SIZE || match === null) {
    throw new SyntaxError(
      `Cannot read address: ${quote(text)} is not LID:QPN:PSN:GID in ${ADDRESS_SIZE} bytes`,
    );
  }
  const [lid, qpn, psn] = match.slice(1, 4).map((digits) => parseInt(digits, 16));
  return { lid: lid!, qpn: qpn!, psn: psn!, gid: new Gid(Uint8Array.fromHex(match[4]!)) };
}

/** The address as the tools print it. ibv_ud_pingpong puts a colon before its own GID, all others a comma. */
export function formatAddress({ lid, qpn, psn, gid }: Address, separator: ":" | ","): string {
  return `LID 0x${hex(lid, 4)}, QPN 0x${hex(qpn, 6)}, PSN 0x${hex(psn, 6)}${separator} GID ${gid}`;
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}
