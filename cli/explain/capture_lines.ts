/** How `explain` shows a capture: each frame with its headers. */

import type { Line, Terminal } from "../shell/terminal.ts";
import type { ByteSource } from "./byte_source.ts";
import { type Frame, readCapture } from "./capture.ts";
import { type Decoded, readFrame } from "./packet.ts";
import { sectionLines, sectionValues } from "./section.ts";

/** Which parts of a capture are shown, and how. */
export interface CaptureView {
  /** A line of JSON for each frame. */
  readonly json: boolean;
  /** A line for each frame. */
  readonly brief: boolean;
  /** Only RoCE packets. */
  readonly roce: boolean;
}

/** How many kinds of frames without a packet are named. */
const KINDS = 5;

/**
 * Shows the frames of a capture, each as it comes. The result is the status: 1 if no packet is among them.
 *
 * @throws {CommandError} If the file is no capture, or is damaged; the frames before are shown.
 */
export async function explainCapture(
  capture: ByteSource,
  { json, brief, roce }: CaptureView,
  terminal: Terminal,
): Promise<number> {
  let [frames, packets] = [0, 0];
  const others = new Map<string, number>();
  for await (const frame of readCapture(capture)) {
    const decoded = readFrame(frame.bytes, frame.linkType);
    frames++;
    if (decoded.packet !== undefined) packets++;
    else others.set(decoded.reason!, (others.get(decoded.reason!) ?? 0) + 1);
    if (roce && !decoded.isRoce) continue;
    if (json) terminal.printJson(valuesOf(frame, decoded), "line");
    else if (brief) terminal.print([titleOf(frame, decoded, briefOf(decoded))]);
    else {
      const title = titleOf(frame, decoded, withReason(decoded.packet?.opcode, decoded));
      terminal.print([title, ...sectionLines(decoded.sections), ""]);
    }
  }
  if (packets === 0) terminal.printError(`explain: no RoCE packet ${among(frames, others)}`);
  else if (roce && others.size > 0) {
    terminal.printError(`explain: left out ${among(frames, others)}`);
  }
  return packets === 0 ? 1 : 0;
}

/** How many frames there are, and what those without a packet are. */
function among(frames: number, others: ReadonlyMap<string, number>): string {
  if (frames === 0) return "is in the capture: it has no frames";
  const kinds = [...others].sort(([, a], [, b]) => b - a);
  const texts = kinds.slice(0, KINDS).map(([reason, count]) => `${count} of ${reason}`);
  const more = kinds.length - texts.length;
  return `of ${frames} frames: ${texts.join("; ")}${more > 0 ? `; ${more} other kinds` : ""}`;
}

function valuesOf({ number, time, length, bytes }: Frame, decoded: Decoded): unknown {
  const { sections, packet, reason, notOnWire, addresses: [from, to] = [] } = decoded;
  return {
    ...{ frame: number, time, length: length - notOnWire },
    ...{ captured: bytes.length - notOnWire, from, to },
    ...{ packet: packet?.opcode ?? null, reason },
    ...sectionValues(sections),
  };
}

function titleOf(
  { number, time, length, bytes }: Frame,
  { notOnWire }: Decoded,
  text: string,
): Line {
  const captured = bytes.length === length ? "" : `${bytes.length - notOnWire} of `;
  const size = `${captured}${length - notOnWire}`;
  return [{ text: `Frame ${number}, ${dateOf(time)}, ${size} bytes: ${text}`, style: "green" }];
}

function briefOf(decoded: Decoded): string {
  const addresses = decoded.addresses === undefined ? "" : `${decoded.addresses.join(" to ")}: `;
  return addresses + withReason(decoded.packet?.summary, decoded);
}

function withReason(packet = "no RoCE packet", { reason }: Decoded): string {
  return reason === undefined ? packet : `${packet}: ${reason}`;
}

/** A damaged file may have times that no calendar has. */
function dateOf(time: number): string {
  const date = new Date(time * 1000);
  return Number.isNaN(date.getTime()) ? `${time} s` : date.toISOString();
}
