import { enums } from "../../ffi/layout.ts";
import { byteArray, integer, object, uint16 } from "../../internal/checks.ts";
import { parseAddress } from "../address/ip_address.ts";

const FIELD = enums.ibv_rx_hash_fields;
const IPV4 = FIELD.IBV_RX_HASH_SRC_IPV4 | FIELD.IBV_RX_HASH_DST_IPV4;
const IPV6 = FIELD.IBV_RX_HASH_SRC_IPV6 | FIELD.IBV_RX_HASH_DST_IPV6;
const TCP = FIELD.IBV_RX_HASH_SRC_PORT_TCP | FIELD.IBV_RX_HASH_DST_PORT_TCP;
const UDP = FIELD.IBV_RX_HASH_SRC_PORT_UDP | FIELD.IBV_RX_HASH_DST_PORT_UDP;
const SOURCES = FIELD.IBV_RX_HASH_SRC_IPV4 | FIELD.IBV_RX_HASH_SRC_IPV6 |
  FIELD.IBV_RX_HASH_SRC_PORT_TCP | FIELD.IBV_RX_HASH_SRC_PORT_UDP;
const PREDICTABLE = IPV4 | IPV6 | TCP | UDP | FIELD.IBV_RX_HASH_INNER;

/**
 * Length of the longest hash input of RSS in bytes: two IPv6 addresses and two ports.
 *
 * @category Receive work queues and RSS
 */
export const MAX_RSS_INPUT = 36;

/**
 * The source and destination of a packet, from which RSS computes its hash.
 *
 * @category Receive work queues and RSS
 */
export interface RssFlow {
  /** The source address, as text or as 4 or 16 bytes in network order. */
  readonly srcIp: string | Uint8Array;
  /** The destination address, of the same family. */
  readonly dstIp: string | Uint8Array;
  /** Protocol above IP. Ports are hashed for TCP and UDP only: leave it out for other protocols. */
  readonly protocol?: "tcp" | "udp" | undefined;
  /** The source port, 0 to 65535. It is needed if the fields select it. */
  readonly srcPort?: number | undefined;
  /** The destination port, 0 to 65535. It is needed if the fields select it. */
  readonly dstPort?: number | undefined;
}

/**
 * How a device arranges its hash input.
 *
 * @category Receive work queues and RSS
 */
export interface RssInputOptions {
  /**
   * Whether both directions of a flow have the same hash. The device then hashes "source or destination" in place of the
   * source, and "source exclusive-or destination" in place of the destination. This applies to addresses and to ports,
   * each if both source and destination are selected. mlx5 hashes like this: its driver turns it on for every queue
   * pair. The default is false.
   */
  readonly symmetric?: boolean | undefined;
}

/**
 * The bytes of a flow that a device hashes. They are the selected ones of source address, destination address, source
 * port and destination port, in this order, in network byte order.
 *
 * IPv4 fields select parts of IPv4 flows only, IPv6 fields parts of IPv6 flows, TCP and UDP ports parts of flows of that
 * protocol. If all selected addresses are of the other family, nothing is selected, not even ports. If nothing is
 * selected, the input is empty and the hash is 0. With `IBV_RX_HASH_INNER`, pass the flow of the encapsulated packet.
 *
 * Devices do not support every combination of fields. mlx4 needs sources and destinations in pairs, and addresses if
 * there are ports. mlx5 supports one address family and one protocol at a time, and is
 * `symmetric`.
 *
 * @example The ports of a TCP flow are hashed, those of a UDP flow are not
 * ```ts
 * import { rssInput } from "@rdma/ibverbs/rss";
 * import { enums } from "@rdma/ibverbs/ffi";
 * import { assertEquals } from "@std/assert";
 *
 * const field = enums.ibv_rx_hash_fields;
 * const fields = field.IBV_RX_HASH_SRC_IPV4 | field.IBV_RX_HASH_SRC_PORT_TCP;
 * const flow = { srcIp: "10.0.0.1", dstIp: "10.0.0.2", srcPort: 7, dstPort: 9 };
 * assertEquals(rssInput({ ...flow, protocol: "tcp" }, fields).toHex(), "0a0000010007");
 * assertEquals(rssInput({ ...flow, protocol: "udp" }, fields).toHex(), "0a000001");
 * ```
 *
 * @param fields Bits of `ibv_rx_hash_fields`.
 * @returns Up to `MAX_RSS_INPUT` bytes.
 * @throws {SyntaxError} If a text is not an IP address.
 * @throws {RangeError} If the address families differ, a port is out of range or a field cannot be predicted.
 * @throws {TypeError} If a selected port is missing.
 * @category Receive work queues and RSS
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
 * `rssInput` into a buffer that can be reused.
 *
 * @param input The buffer, of `MAX_RSS_INPUT` bytes. All of it may be overwritten.
 * @returns The length of the hash input in bytes.
 * @throws {RangeError} As `rssInput` does, and if the buffer is too short.
 * @category Receive work queues and RSS
 */
export function writeRssInput(
  input: Uint8Array,
  flow: RssFlow,
  fields: number,
  options: RssInputOptions = {},
): number {
  byteArray(input, "input");
  requirePredictable(fields);
  // Code of the caller, such as a getter, may use or transfer the same buffer: it runs before anything is written.
  const { srcIp, dstIp, protocol, srcPort, dstPort } = flow ??
    object(flow, "flow");
  const { symmetric = false } = options ?? object(options, "options");
  if (input.length < MAX_RSS_INPUT) {
    throw new RangeError(
      `Cannot use input of ${input.length} bytes: ${MAX_RSS_INPUT} are needed`,
    );
  }
  const size = writeEndpoint(srcIp, "srcIp", input, 0);
  if (writeEndpoint(dstIp, "dstIp", input, size) !== size) {
    throw new RangeError("Cannot hash flow: source and destination are of different families");
  }
  const addresses = fields & (size === 4 ? IPV4 : IPV6);
  if (addresses === 0 && (fields & (IPV4 | IPV6)) !== 0) return 0;
  const length = keep(input, 0, size, addresses, symmetric);
  const ports = fields & (protocol === "tcp" ? TCP : protocol === "udp" ? UDP : 0);
  if ((ports & SOURCES) !== 0) writePort(input, length, srcPort, "srcPort");
  if ((ports & ~SOURCES) !== 0) writePort(input, length + 2, dstPort, "dstPort");
  return length + keep(input, length, 2, ports, symmetric);
}

function requirePredictable(fields: number): void {
  if (typeof fields === "number" && fields >>> 0 === fields && (fields & ~PREDICTABLE) === 0) {
    return;
  }
  integer(fields, "fields", 0, 0xffff_ffff);
  const known = "only addresses and ports are supported";
  throw new RangeError(`Cannot predict a hash over fields 0x${fields.toString(16)}: ${known}`);
}

function writeEndpoint(
  given: string | Uint8Array,
  what: string,
  input: Uint8Array,
  offset: number,
): number {
  const address = typeof given === "string" ? parseAddress(given) : given;
  byteArray(address, what);
  if (address.length !== 4 && address.length !== 16) {
    throw new RangeError(`Cannot hash address of ${address.length} bytes: 4 or 16 are needed`);
  }
  input.set(address, offset);
  return address.length;
}

function writePort(
  input: Uint8Array,
  offset: number,
  port: number | undefined,
  what: string,
): void {
  if (port === undefined) {
    throw new TypeError(`Cannot hash flow: ${what} is missing, and the fields select it`);
  }
  uint16(port, what);
  input[offset] = port >> 8;
  input[offset + 1] = port;
}

/** Of a source and the destination that follows it, keeps those that are selected. Returns their length. */
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
