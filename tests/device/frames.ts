/** Ethernet frames for the stub HCA, made from flows. */

import { parseAddress } from "../../mod.ts";
import type { RssFlow } from "../../rss.ts";

const ETHERNET_HEADER = 14;
const ETHER_TYPE = { 4: 0x0800, 6: 0x86dd } as const;
const PROTOCOL = { tcp: 6, udp: 17 } as const;
const PORTS = 4;

/** A frame of a flow, with the headers that hashing looks at and data behind them, and no checksums. */
export function frameOf(flow: RssFlow, payload = new Uint8Array()): Uint8Array<ArrayBuffer> {
  const addresses = [flow.srcIp, flow.dstIp].map(bytesOf);
  const version = addresses[0]!.length === 4 ? 4 : 6;
  const segment = segmentOf(flow, payload);
  const protocol = flow.protocol === undefined ? 0 : PROTOCOL[flow.protocol];
  const header = version === 4
    ? ipv4Header(protocol, segment.length)
    : ipv6Header(protocol, segment.length);
  return concat(link(version), header, ...addresses, segment);
}

function bytesOf(address: string | Uint8Array): Uint8Array {
  return typeof address === "string" ? parseAddress(address) : address;
}

function segmentOf(flow: RssFlow, payload: Uint8Array): Uint8Array {
  const ports = new DataView(new ArrayBuffer(PORTS));
  ports.setUint16(0, flow.srcPort ?? 0);
  ports.setUint16(2, flow.dstPort ?? 0);
  return concat(new Uint8Array(ports.buffer), payload);
}

function link(version: 4 | 6): Uint8Array {
  const view = new DataView(new ArrayBuffer(ETHERNET_HEADER));
  view.setUint16(ETHERNET_HEADER - 2, ETHER_TYPE[version]);
  return new Uint8Array(view.buffer);
}

/** Up to the addresses. */
function ipv4Header(protocol: number, length: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(12));
  view.setUint8(0, 0x45);
  view.setUint16(2, 20 + length);
  view.setUint8(8, 64);
  view.setUint8(9, protocol);
  return new Uint8Array(view.buffer);
}

/** Up to the addresses. */
function ipv6Header(protocol: number, length: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(8));
  view.setUint8(0, 0x60);
  view.setUint16(4, length);
  view.setUint8(6, protocol);
  view.setUint8(7, 64);
  return new Uint8Array(view.buffer);
}

function concat(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}
