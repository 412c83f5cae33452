/**
 * Which bytes of a packet receive side scaling (RSS) hashes.
 *
 * @module
 */

import { enums } from "../../ffi/layout.ts";
import { writeAddress } from "../address/ip_address.ts";

const FIELD = enums.ibv_rx_hash_fields;
const IPV4 = FIELD.IBV_RX_HASH_SRC_IPV4 | FIELD.IBV_RX_HASH_DST_IPV4;
const IPV6 = FIELD.IBV_RX_HASH_SRC_IPV6 | FIELD.IBV_RX_HASH_DST_IPV6;
const TCP = FIELD.IBV_RX_HASH_SRC_PORT_TCP | FIELD.IBV_RX_HASH_DST_PORT_TCP;
const UDP = FIELD.IBV_RX_HASH_SRC_PORT_UDP | FIELD.IBV_RX_HASH_DST_PORT_UDP;
const SOURCES = FIELD.IBV_RX_HASH_SRC_IPV4 | FIELD.IBV_RX_HASH_SRC_IPV6 |
  FIELD.IBV_RX_HASH_SRC_PORT_TCP | FIELD.IBV_RX_HASH_SRC_PORT_UDP;
const PREDICTABLE = IPV4 | IPV6 | TCP | UDP | FIELD.IBV_RX_HASH_INNER;

/** The longest input RSS hashes, in bytes: two IPv6 addresses and two ports. */
export const MAX_RSS_INPUT = 36;

/** What RSS looks at in a packet: where it comes from and where it goes. */
export interface RssFlow {
  /** The source address, as text or as 4 or 16 bytes in network order. */
  readonly source: string | Uint8Array;
  /** The destination address, of the same family. */
  readonly destination: string | Uint8Array;
  /** What the IP packet carries; without it, or for any other protocol, no port is hashed. */
  readonly protocol?: "tcp" | "udp" | undefined;
  /** The source port, 0 to 65535; needed where the fields select it. */
  readonly sourcePort?: number | undefined;
  /** The destination port, 0 to 65535; needed where the fields select it. */
  readonly destinationPort?: number | undefined;
}

/** How a device arranges its hash input. */
export interface RssInputOptions {
  /**
   * Hash the source "or" the destination and their "exclusive or" in the places of the two, so that
   * both directions of a flow reach the same queue. Devices of mlx5 hash like this: their driver
   * turns it on for every queue pair. It applies to addresses and to ports, each where both the
   * source and the destination are selected.
   */
  readonly symmetric?: boolean | undefined;
}

/**
 * The bytes of a flow that a device hashes: of source address, destination address, source port and
 * destination port, in this order and in network order, those that the fields select.
 *
 * IPv4 fields apply to IPv4 flows alone, IPv6 fields to IPv6 flows, TCP and UDP ports to flows of
 * that protocol. Fields that select addresses of the other family only select nothing of a flow, not
 * even its ports. Where nothing is selected the input is empty and its hash 0.
 * With `IBV_RX_HASH_INNER`, the flow is to be that of the encapsulated packet.
 *
 * Devices take fewer fields than there are: mlx4 wants sources and destinations in pairs and ports
 * only along with addresses; mlx5 takes fields of one family and of one protocol at a time, and is
 * {@linkcode RssInputOptions.symmetric symmetric}.
 *
 * @example The ports of a TCP flow are hashed, those of a UDP flow are not
 * ```ts
 * import { rssInput } from "@rdma/ibverbs";
 * import { enums } from "@rdma/ibverbs/ffi";
 * import { assertEquals } from "@std/assert";
 *
 * const field = enums.ibv_rx_hash_fields;
 * const fields = field.IBV_RX_HASH_SRC_IPV4 | field.IBV_RX_HASH_SRC_PORT_TCP;
 * const flow = { source: "10.0.0.1", destination: "10.0.0.2", sourcePort: 7, destinationPort: 9 };
 * assertEquals(rssInput({ ...flow, protocol: "tcp" }, fields).toHex(), "0a0000010007");
 * assertEquals(rssInput({ ...flow, protocol: "udp" }, fields).toHex(), "0a000001");
 * ```
 *
 * @param flow The flow.
 * @param fields Bits of `ibv_rx_hash_fields`.
 * @param options How the device arranges the input.
 * @returns Up to {@linkcode MAX_RSS_INPUT} bytes.
 * @throws {SyntaxError} If an address is not one.
 * @throws {RangeError} If the families differ, a port is out of range or a field cannot be predicted.
 * @throws {TypeError} If a selected port is missing.
 */
export function rssInput(
  flow: RssFlow,
  fields: number,
  options: RssInputOptions = {},
): Uint8Array<ArrayBuffer> {
  const input = new Uint8Array(MAX_RSS_INPUT);
  return input.slice(0, writeRssInput(input, flow, fields, options));
}

/**
 * Does what {@linkcode rssInput} does, into a buffer that can be used again and again.
 *
 * @param input Where the bytes go: {@linkcode MAX_RSS_INPUT} bytes, all of which may be overwritten.
 * @param flow The flow.
 * @param fields Bits of `ibv_rx_hash_fields`.
 * @param options How the device arranges the input.
 * @returns The number of bytes that make up the hash input.
 * @throws As {@linkcode rssInput} does.
 */
export function writeRssInput(
  input: Uint8Array,
  flow: RssFlow,
  fields: number,
  options: RssInputOptions = {},
): number {
  requirePredictable(fields);
  const symmetric = options.symmetric ?? false;
  const size = writeEndpoint(flow.source, input, 0);
  if (writeEndpoint(flow.destination, input, size) !== size) {
    throw new RangeError("Cannot hash flow: source and destination are of different families");
  }
  const addresses = fields & (size === 4 ? IPV4 : IPV6);
  if (addresses === 0 && (fields & (IPV4 | IPV6)) !== 0) return 0;
  const length = keep(input, 0, size, addresses, symmetric);
  const ports = fields & portFields(flow);
  writePort(input, length, ports & SOURCES, flow.sourcePort);
  writePort(input, length + 2, ports & ~SOURCES, flow.destinationPort);
  return length + keep(input, length, 2, ports, symmetric);
}

function requirePredictable(fields: number): void {
  if (fields >>> 0 === fields && (fields & ~PREDICTABLE) === 0) return;
  throw new RangeError(
    `Cannot predict a hash over fields 0x${fields.toString(16)}: only addresses and ports can be`,
  );
}

function portFields(flow: RssFlow): number {
  if (flow.protocol === "tcp") return TCP;
  if (flow.protocol === "udp") return UDP;
  return 0;
}

function writeEndpoint(address: string | Uint8Array, input: Uint8Array, offset: number): number {
  if (typeof address === "string") return writeAddress(address, input, offset);
  if (address.length !== 4 && address.length !== 16) {
    throw new RangeError(`Cannot hash address of ${address.length} bytes: 4 or 16 are needed`);
  }
  input.set(address, offset);
  return address.length;
}

/** A port that is not selected is not hashed, so it may as well be missing. */
function writePort(
  input: Uint8Array,
  offset: number,
  selected: number,
  port: number | undefined,
): void {
  if (selected === 0) return;
  if (port === undefined) {
    throw new TypeError("Cannot hash flow: its fields select a port it does not have");
  }
  if (!Number.isInteger(port) || port < 0 || port > 0xffff) {
    throw new RangeError(`Cannot hash port ${port}: ports are 0 to 65535`);
  }
  input[offset] = port >> 8;
  input[offset + 1] = port;
}

/** Leaves of a source and the destination behind it what is selected; the result is its length. */
function keep(
  input: Uint8Array,
  offset: number,
  size: number,
  selected: number,
  symmetric: boolean,
): number {
  const source = (selected & SOURCES) !== 0;
  const destination = (selected & ~SOURCES) !== 0;
  if (source && destination) {
    if (symmetric) mix(input, offset, size);
    return 2 * size;
  }
  if (destination) input.copyWithin(offset, offset + size, offset + 2 * size);
  return source || destination ? size : 0;
}

function mix(input: Uint8Array, offset: number, size: number): void {
  for (let i = offset; i < offset + size; i++) {
    const source = input[i]!;
    const destination = input[i + size]!;
    input[i] = source | destination;
    input[i + size] = source ^ destination;
  }
}
