/** Compares the packets of a capture with what was posted. */

import type { Stream } from "../../tests/hosts/expected.ts";
import { lanAddress } from "../../rxe/guest/qemu.ts";
import type { Packet } from "./packets.ts";

/** The P_Key of the default partition, with full membership. */
const PKEY = 0xffff;
/** Linux 6.1 sends soft-RoCE packets without a flow label, whatever was posted. */
const FLOW_LABEL = 0;
const UD_SEND_ONLY = 0x64;
/** Packet sequence numbers have 24 bits. */
const PSN_MASK = 0xff_ffff;

/** What is wrong with the packets of a queue pair: all in their order, none more and none less; undefined if nothing is. */
export function faultOf(stream: Stream, packets: readonly Packet[]): string | undefined {
  const { host, srcQp, packets: sent } = stream;
  const seen = packets.filter((packet) => packet.host === host && packet.srcQp === srcQp);
  const fault = seen.length === sent.length
    ? seen.map((packet, i) =>
      differenceOf(packet, {
        ...sent[i]!,
        link: lanAddress(3 - host),
        flowLabel: FLOW_LABEL,
        opcode: UD_SEND_ONLY,
        pkey: PKEY,
        psn: stream.psn + i & PSN_MASK,
      })
    ).find((difference) => difference !== undefined)
    : `there are ${seen.length}, not ${sent.length}`;
  return fault && `packets of host ${host} of queue pair ${srcQp}: ${fault}`;
}

function differenceOf(packet: Packet, wanted: Partial<Packet>): string | undefined {
  const [name, value] = Object.entries(wanted)
    .find(([name, value]) => packet[name as keyof Packet] !== value) ?? [];
  if (name === undefined) return undefined;
  return `frame ${packet.frame}: ${name} is ${packet[name as keyof Packet]}, not ${value}`;
}
