/** How the peers of ibv_ud_pingpong write their addresses to each other: 52 bytes of text, the final NUL included. */

import { Gid } from "@rdma/ibverbs";

/** Where a peer's datagrams go. */
export interface Address {
  /** InfiniBand's own address; 0 on RoCE. */
  readonly lid: number;
  /** Queue pair number, 24 bits. */
  readonly qpn: number;
  /** First packet number, 24 bits. */
  readonly psn: number;
  /** All zero where the peer was given no GID index. */
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
 * @throws {SyntaxError} If it is none.
 */
export function decodeAddress(bytes: Uint8Array): Address {
  const text = new TextDecoder().decode(bytes);
  const match = PATTERN.exec(text);
  if (bytes.length !== ADDRESS_SIZE || match === null) {
    throw new SyntaxError(
      `Cannot read address: ${
        JSON.stringify(text)
      } is not LID:QPN:PSN:GID in ${ADDRESS_SIZE} bytes`,
    );
  }
  const [lid, qpn, psn] = match.slice(1, 4).map((digits) => parseInt(digits, 16));
  return { lid: lid!, qpn: qpn!, psn: psn!, gid: new Gid(Uint8Array.fromHex(match[4]!)) };
}

/** The address as the tool prints it; its own line has a colon before the GID, the peer's a comma. */
export function formatAddress({ lid, qpn, psn, gid }: Address, separator: ":" | ","): string {
  return `LID 0x${hex(lid, 4)}, QPN 0x${hex(qpn, 6)}, PSN 0x${hex(psn, 6)}${separator} GID ${gid}`;
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}
