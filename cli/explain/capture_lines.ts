/** How `explain` shows a capture: each frame with its headers. */

import { CommandError, messageOf } from "../shell/command.ts";
import type { Terminal } from "../shell/terminal.ts";
import type { ByteSource } from "./byte_source.ts";
import { type Frame, readCapture } from "./capture.ts";
import { readFrame } from "./packet.ts";
import { row, type Section, sectionLines, sectionValues } from "./section.ts";

/** What is shown of a capture. */
export interface CaptureView {
  /** A line of JSON for each frame. */
  readonly json: boolean;
  /** A line for each frame. */
  readonly brief: boolean;
  /** No other frames than RoCE packets. */
  readonly roce: boolean;
}

/**
 * Shows the frames of a capture, each as it comes.
 *
 * @throws {CommandError} If the file is no capture, or is damaged; the frames before are shown.
 */
export async function explainCapture(
  capture: ByteSource,
  { json, brief, roce }: CaptureView,
  terminal: Terminal,
): Promise<void> {
  for await (const frame of readCapture(capture)) {
    const { name, summary, sections } = explainFrame(frame);
    if (roce && name === null) continue;
    const { number, time, bytes: { length } } = frame;
    if (json) {
      const facts = { frame: number, time, length, packet: name };
      terminal.printJson({ ...facts, ...sectionValues(sections) }, "line");
    } else {
      const packet = (brief ? summary : name) ?? "no RoCE packet";
      const text = `Frame ${number}, ${dateOf(time)}, ${length} bytes: ${packet}`;
      const title = [{ text, style: "green" as const }];
      terminal.print(brief ? [title] : [title, ...sectionLines(sections), ""]);
    }
  }
}

/** A damaged file may have times that no calendar has. */
function dateOf(time: number): string {
  const date = new Date(time * 1000);
  return Number.isNaN(date.getTime()) ? `${time} s` : date.toISOString();
}

/** The headers of a frame; the name and the summary of the packet if it is one of RoCE. */
function explainFrame({ bytes, linkType }: Frame): {
  readonly name: string | null;
  readonly summary?: string | undefined;
  readonly sections: readonly Section[];
} {
  try {
    const { packet, sections } = readFrame(bytes, linkType);
    return { name: packet?.opcode ?? null, summary: packet?.summary, sections };
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const damage = row("reason", messageOf(error));
    return { name: null, sections: [{ key: "damaged", title: "Damaged", rows: [damage] }] };
  }
}
