/** Compares the packets of a capture with what was posted. */

import type { ConnectedStream, Stream, UdStream } from "../../tests/hosts/expected.ts";
import { lanAddress } from "../../rxe/guest/qemu.ts";
import { parseAddress } from "../../types/address/ip_address.ts";
import type { Packet } from "./packets.ts";

/** The P_Key of the default partition, with full membership. */
const PKEY = 0xffff;
/** Linux 6.1 sends soft-RoCE packets with the hop limit of the route, and without a flow label, whatever was posted. */
const HOP_LIMIT = 64;
const FLOW_LABEL = 0;

const UD_SEND_ONLY = 0x64;
const RDMA_READ = 12;
/** Codes of the answers of a connected queue pair that have data: those of reads and atomics. */
const DATA_ANSWERS: ReadonlySet<number> = new Set([13, 14, 15, 16, 18]);
const ACKNOWLEDGE = 17;
/** Codes of the second and later packets of a message, from the one in the middle to the last. */
const CONTINUATIONS: ReadonlySet<number> = new Set(
  [1, 2, 3, 7, 8, 9, 14, 15].flatMap((code) => [code, code + 32]),
);
/** Packet sequence numbers have 24 bits. */
const PSN_MASK = 0xff_ffff;

/** What is wrong with the packets of a queue pair; undefined if they are as they must be. */
export function faultOf(stream: Stream, packets: readonly Packet[]): string | undefined {
  const fault = stream.kind === "ud" ? faultOfUd(stream, packets) : faultOfRc(stream, packets);
  if (fault === undefined) return undefined;
  const which = stream.kind === "ud"
    ? `of queue pair ${stream.srcQp}`
    : `to queue pair ${stream.destQp}`;
  return `packets of host ${stream.host} ${which}: ${fault}`;
}

/** All packets in their order, none more and none less. */
function faultOfUd(stream: UdStream, packets: readonly Packet[]): string | undefined {
  const { host, srcQp } = stream;
  const seen = packets.filter((packet) => packet.host === host && packet.srcQp === srcQp);
  if (seen.length !== stream.packets.length) {
    return `there are ${seen.length}, not ${stream.packets.length}`;
  }
  return first(seen.map((packet, i) =>
    differenceOf(packet, {
      ...stream.packets[i]!,
      link: linkOf(stream.packets[i]!.dst, host),
      flowLabel: FLOW_LABEL,
      opcode: UD_SEND_ONLY,
      pkey: PKEY,
      psn: stream.psn + i & PSN_MASK,
    })
  ));
}

/** Requests may be repeated, but they are those that were posted. */
function faultOfRc(stream: ConnectedStream, packets: readonly Packet[]): string | undefined {
  const { host, src, dst, destQp, trafficClass } = stream;
  const seen = packets.filter((packet) =>
    packet.host === host && packet.destQp === destQp && Number.isNaN(packet.srcQp) &&
    !DATA_ANSWERS.has(packet.opcode) && packet.opcode !== ACKNOWLEDGE
  );
  const answers = packets.filter((packet) =>
    packet.host === 3 - host && packet.destQp === stream.srcQp && DATA_ANSWERS.has(packet.opcode)
  );
  const link = linkOf(dst, host);
  const limits = { pkey: PKEY, hopLimit: HOP_LIMIT, flowLabel: FLOW_LABEL };
  const wanted = { link, src, dst, trafficClass, ...limits };
  return first(seen.map((packet) => differenceOf(packet, wanted))) ??
    difference("opcodes", ascending(seen.map(({ opcode }) => opcode)), ascending(stream.opcodes)) ??
    faultOfNumbers(stream, seen) ??
    faultOfData("request", messagesOf(seen, stream.psn), stream.requests) ??
    faultOfData("answer", messagesOf(answers, stream.psn), stream.answers);
}

/** The data of messages in their order. Packets may be repeated: all of one number must be the same. */
function messagesOf(packets: readonly Packet[], psn: number): string[] {
  const byNumber = Map.groupBy(packets, (packet) => packet.psn - psn & PSN_MASK);
  const messages: string[] = [];
  for (const [, same] of [...byNumber].sort(([a], [b]) => a - b)) {
    const [{ payload, opcode }] = same as [Packet];
    const data = same.every((other) => other.payload === payload) ? payload : "repeated otherwise";
    if (CONTINUATIONS.has(opcode)) messages.push(`${messages.pop()}${data}`);
    else messages.push(data);
  }
  return messages;
}

function faultOfData(
  what: string,
  found: readonly string[],
  wanted: readonly string[],
): string | undefined {
  return difference(`number of ${what}s with data`, found.length, wanted.length) ??
    first(wanted.map((data, i) => difference(`data of ${what} ${i}`, found[i], data)));
}

function faultOfNumbers(stream: ConnectedStream, seen: readonly Packet[]): string | undefined {
  const at = ({ psn }: Packet): number => psn - stream.psn & PSN_MASK;
  const begins = seen.filter(({ opcode }) => !CONTINUATIONS.has(opcode));
  const requests = new Set(begins.map(at)).size;
  const numbers = ascending(seen.map(at));
  // A read takes as many numbers as its answer has packets.
  const isGapless = stream.opcodes.includes(RDMA_READ) || numbers.at(-1) === numbers.length - 1;
  return difference("number of requests", requests, stream.requests.length) ??
    difference("distance of the first packet sequence number", numbers[0], 0) ??
    (isGapless ? undefined : "a packet sequence number is missing");
}

/** The Ethernet address for an address on the network: that of a group, or that of the other host. */
function linkOf(dst: string, host: number): string {
  const bytes = parseAddress(dst);
  const group = bytes.length === 4
    ? bytes[0]! >> 4 === 14 && [0x01, 0x00, 0x5e, bytes[1]! & 0x7f, bytes[2]!, bytes[3]!]
    : bytes[0] === 0xff && [0x33, 0x33, ...bytes.subarray(12)];
  if (!group) return lanAddress(3 - host);
  return group.map((byte) => byte.toString(16).padStart(2, "0")).join(":");
}

function ascending(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].sort((a, b) => a - b);
}

function differenceOf(packet: Packet, wanted: Partial<Packet>): string | undefined {
  return first(
    Object.entries(wanted).map(([name, value]) => {
      const found = packet[name as keyof Packet];
      if (found !== value) return `frame ${packet.frame}: ${name} is ${found}, not ${value}`;
    }),
  );
}

function difference(what: string, found: unknown, wanted: unknown): string | undefined {
  const [a, b] = [String(found), String(wanted)];
  return a === b ? undefined : `${what}: ${a}, not ${b}`;
}

function first(faults: readonly (string | undefined)[]): string | undefined {
  return faults.find((fault) => fault !== undefined);
}
