// Packets as text, made from their fields.

/** Bytes as hexadecimal digits. */
export function hex(...numbers: readonly [value: number | bigint, bytes: number][]): string {
  return numbers.map(([value, bytes]) => value.toString(16).padStart(2 * bytes, "0")).join("");
}

/** An IPv4 header from 10.0.0.1. */
export function ipv4(daddr = 0x0a00_0002, protocol = 17): string {
  const first = hex([0x4502_003c, 4], [0x0001_4000, 4], [63, 1], [protocol, 1], [0, 2]);
  return first + hex([0x0a00_0001, 4], [daddr, 4]);
}

/** A GRH or an IPv6 header from fe80::1 to fe80::2. */
export function ipv6(next: number, dgid = 0xfe80_0000_0000_0000_0000_0000_0000_0002n): string {
  const paylen = next === 17 ? 40 : 32;
  const first = hex([0x6230_0456, 4], [paylen, 2], [next, 1], [64, 1]);
  return first + hex([0xfe80_0000_0000_0000_0000_0000_0000_0001n, 16], [dgid, 16]);
}

/** The UDP header of RoCE v2. */
export const UDP = hex([0xc000, 2], [4791, 2], [8 + 12 + 8 + 8 + 4, 2], [0, 2]);

/** A base transport header to queue pair 0x11. */
export function bth(opcode: number): string {
  return hex([opcode, 1], [0x80, 1], [0xffff, 2], [0, 1], [0x11, 3], [0, 1], [0x123, 3]);
}

/** The rest of a UD SEND Only from queue pair 0x22: DETH, 8 bytes, ICRC. */
export const DATAGRAM = hex([0x1111_1111, 4], [0, 1], [0x22, 3], [0, 8], [0, 4]);

/** The Ethernet header before a header of that type. */
export function ethernet(ethertype: number, tag?: number): string {
  const addresses = hex([0x0200_0000_0001n, 6], [0x0200_0000_0002n, 6]);
  const vlan = tag === undefined ? "" : hex([0x8100, 2], [tag, 2]);
  return addresses + vlan + hex([ethertype, 2]);
}

/** A `struct ibv_wc` of this machine. */
export function completion(fields: {
  readonly status?: number;
  readonly opcode?: number;
  readonly wcFlags?: number;
  readonly slid?: number;
  readonly byteLen?: number;
}): string {
  const view = new DataView(new ArrayBuffer(48));
  view.setBigUint64(0, 7n, true);
  view.setUint32(8, fields.status ?? 0, true);
  view.setUint32(12, fields.opcode ?? 128, true);
  view.setUint32(20, fields.byteLen ?? 104, true);
  view.setUint32(28, 0x11, true);
  view.setUint32(32, 0x22, true);
  view.setUint32(36, fields.wcFlags ?? 1, true);
  view.setUint16(42, fields.slid ?? 0, true);
  view.setUint8(44, 3);
  return new Uint8Array(view.buffer).toHex();
}
