/** RoCE and InfiniBand packets: from the link header, or from the IP header, to the transport headers. */

import type { Grh } from "@rdma/ibverbs";
import { CommandError } from "../shell/command.ts";
import { readTransport, type Transport } from "./headers.ts";
import { type Below, cut, firstLayer, isIpoib, isLayer, type Layer, LAYERS } from "./layers.ts";
import type { Section } from "./section.ts";

/** A packet, from which a reply path is made. */
export interface Packet extends Transport {
  /** The header that names the sender and the receiver; local packets of InfiniBand have none. */
  readonly grh: Grh | undefined;
  /** The priority in the VLAN tag, which becomes the service level; 0 without a tag. */
  readonly sl: number;
}

/** A packet of RoCE: it has a header that names both. */
export interface RocePacket extends Packet {
  readonly grh: Grh;
}

/** What a captured frame is. */
export interface Decoded {
  readonly sections: readonly Section[];
  /** Who sends to whom, as far as a header shows it. */
  readonly addresses: readonly [from: string, to: string] | undefined;
  readonly packet?: Packet;
  /** Why there is no packet, or only a part of it. */
  readonly reason?: string | undefined;
  /** How many of the captured bytes describe the frame, and were not on the wire. */
  readonly notOnWire: number;
  /** Whether the transport headers were reached, however few of their bytes were captured. */
  readonly isRoce: boolean;
}

/**
 * Reads a RoCE packet. It is undefined if the bytes are something else.
 *
 * @throws {CommandError} If the packet ends within a header.
 */
export function readPacket(bytes: Uint8Array<ArrayBuffer>): RocePacket | undefined {
  for (const first of ["ethernet", "rawIp"] as const) {
    const { packet, reason, isRoce } = readLayers(bytes, first);
    if (isRoce && reason !== undefined) throw new CommandError(reason);
    if (packet?.grh !== undefined) return { ...packet, grh: packet.grh };
  }
}

/** Reads a captured frame: a packet, or the headers of something else. */
export function readFrame(bytes: Uint8Array<ArrayBuffer>, linkType: number): Decoded {
  const first = firstLayer(linkType);
  if (isLayer(first)) return readLayers(bytes, first);
  return { sections: [], addresses: undefined, notOnWire: 0, reason: first, isRoce: false };
}

function readLayers(bytes: Uint8Array<ArrayBuffer>, first: Layer): Decoded {
  const below: Below = { sections: [], sl: 0, length: 0, notOnWire: 0 };
  let [layer, rest] = [first, bytes];
  while (layer !== "bth") {
    if (layer === "ethernet" || layer.startsWith("ipv")) markOuter(below, layer);
    const step = readLayer(layer, rest, below);
    if (typeof step === "string") return { ...resultOf(below), reason: step, isRoce: false };
    [layer, rest] = [step[0], rest.subarray(step[1])];
  }
  return readBth(rest.subarray(0, below.length), below);
}

function readLayer(
  layer: Layer,
  bytes: Uint8Array<ArrayBuffer>,
  below: Below,
): readonly [Layer, number] | string {
  const [title, size, read] = LAYERS[layer];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return bytes.length < size ? cut(title, bytes, size) : read(view, below);
}

/** A frame may be padded: the packet ends where its header says. */
function readBth(bytes: Uint8Array<ArrayBuffer>, below: Below): Decoded {
  const result = resultOf(below);
  const [title, size] = LAYERS.bth;
  if (bytes.length < size) {
    return { ...result, reason: cut(title, bytes, size), isRoce: true };
  }
  const transport = readTransport(bytes, below.length);
  const { message } = transport;
  const isInfiniBand = below.sections.some(({ key }) => key === "lrh");
  const inner = message !== undefined && isInfiniBand && isIpoib(message)
    ? readLayers(message, "ipoib")
    : undefined;
  const sections = [
    ...below.sections,
    ...transport.sections,
    ...inner?.sections.map((section) => prefixed(section, "inner")) ?? [],
  ];
  const summary = transport.summary + (inner === undefined ? "" : `: ${innerText(inner)}`);
  const packet = { ...transport, sections, summary, grh: below.grh, sl: below.sl };
  return { ...result, sections, packet, reason: transport.cut, isRoce: true };
}

function resultOf(
  { sections, addresses, notOnWire }: Below,
): Pick<Decoded, "sections" | "addresses" | "notOnWire"> {
  return { sections, addresses, notOnWire };
}

/** Headers before a second header of the same kind are those of a tunnel. */
function markOuter({ sections }: Below, layer: Layer): void {
  const key = layer === "ethernet" ? layer : "grh";
  if (!sections.some((section) => section.key === key || section.key === "grh")) return;
  for (const [i, section] of sections.entries()) sections[i] = prefixed(section, "outer");
}

function prefixed({ key, title, rows }: Section, prefix: "inner" | "outer"): Section {
  const [name, words] = [key, title].map((text) => text[0]!.toUpperCase() + text.slice(1));
  const place = `${prefix[0]!.toUpperCase()}${prefix.slice(1)}`;
  return { key: prefix + name, title: `${place} ${prefix === "outer" ? title : words}`, rows };
}

/** What IP over InfiniBand carries, in one line. */
function innerText({ addresses, packet, reason }: Decoded): string {
  const between = addresses === undefined ? "" : `${addresses.join(" to ")}: `;
  return `IPoIB, ${between}${packet?.summary ?? reason}`;
}
