import { Grh, VerbsError, WcFlags, WcOpcode, type WorkCompletion } from "@rdma/ibverbs";
import { quote } from "./shell/text.ts";
import { namesOf, openDevice, portsOf } from "./shell/ports.ts";
import { choice, type Command, command, flag, number, text, UsageError } from "./shell/command.ts";
import { completionSection, readCompletion, WC_SIZE } from "./explain/completion_section.ts";
import { ByteSource } from "./explain/byte_source.ts";
import { explainCapture } from "./explain/capture_lines.ts";
import { grhSection } from "./explain/grh_section.ts";
import { readHex, readInput } from "./explain/hex_input.ts";
import { readPacket, type RocePacket } from "./explain/packet.ts";
import {
  faultOf,
  noReply,
  type Received,
  type Receiver,
  replySection,
} from "./explain/reply_section.ts";
import { type Section, sectionLines, sectionValues } from "./explain/section.ts";

/** Names of captures. A hexadecimal number has no dot. */
const CAPTURE = /\.(pcap|pcapng|cap)(\.gz)?$/i;
/** Text with characters of neither a hexadecimal number nor a dump: the name of a file, or a typing error. */
const NAME = /^(?=.*[^0-9a-fx:,])\S+$/i;

export const explain: Command = command({
  name: "explain",
  summary: "Explains a GRH, a work completion, a RoCE packet and its reply path, or a capture.",
  operands: "[HEX... | FILE.pcap]",
  details: `
HEX is one of these, by its size and contents:
  GRH              40 bytes: the beginning of the buffer of a UD receive
  work completion  ${WC_SIZE} bytes: struct ibv_wc
  RoCE packet      from the Ethernet header, or from the IP header
A work completion and its GRH can be given together, each in quotes. Blanks, colons, commas and 0x
may be between the digits. The lines of tcpdump -xx and of xxd are understood; without HEX they are
read from standard input.

FILE.pcap or FILE.pcapng is a capture, of tcpdump or Wireshark; it needs --allow-read. It can be
compressed (FILE.pcap.gz). A capture of another name, or on standard input, is known by its first
bytes. Each packet is shown as it comes ("tcpdump -U -w - | ... explain -"); --json and --brief print
a line for each. Packets are also found in tunnels: GRE, ERSPAN, VXLAN, Geneve, MPLS, IP in IP. The
status is 1 if there is no RoCE packet.

With --ib-dev the reply path is what ibv_init_ah_from_wc gives on that device. It is the address to
make an address handle from.`,
  options: {
    as: choice(["grh", "completion", "packet"], "what HEX is, if its size does not show it"),
    brief: flag("of a capture one line for each packet"),
    roce: flag("of a capture RoCE packets only"),
    "ib-dev": text("DEVICE", "the device that received the packet", "d"),
    "ib-port": number("PORT", "the port that received it; 1 by default", [1, 255], "i"),
  },
  async run(
    { as, json, brief, roce, "ib-dev": device, "ib-port": port = 1 },
    terminal,
    operands,
  ): Promise<number> {
    if (operands.length === 1 && isFile(operands[0]!)) {
      using file = Deno.openSync(operands[0]!);
      return await explainCapture(new ByteSource(file.readable), { json, brief, roce }, terminal);
    }
    const given = await inputOf(operands);
    if (given instanceof ByteSource) {
      return await explainCapture(given, { json, brief, roce }, terminal);
    }
    const parts = given.map((text) => readPart(readHex(text), as));
    const explained = explainParts(parts);
    using stack = new DisposableStack();
    const receiver = device === undefined ? undefined : receiverOf(device, port, stack);
    const sections = [...explained.sections, replyOf(explained, receiver)];
    if (json) terminal.printJson(sectionValues(sections));
    else terminal.print(sectionLines(sections));
    return 0;
  },
});

/**
 * Whether an operand is a file. One that could be both, such as "beef", is a number.
 *
 * @throws {UsageError} If it is neither a number nor a file that the program may read.
 */
function isFile(operand: string): boolean {
  if (CAPTURE.test(operand)) return true;
  if (!NAME.test(operand) || operand === "-") return false;
  try {
    return Deno.statSync(operand).isFile;
  } catch (error) {
    const reason = error instanceof Deno.errors.NotCapable
      ? `it cannot be read as a capture: ${error.message}`
      : "there is no such file";
    throw new UsageError(`${quote(operand)} is not hexadecimal, and ${reason}`);
  }
}

function receiverOf(device: string, port: number, stack: DisposableStack): Receiver {
  const choice = { "ib-dev": device, "ib-port": port };
  const context = openDevice(namesOf(choice)[0]!, stack);
  return { context, port: portsOf(context, choice)[0]! };
}

/** The operands or, without any, the contents of standard input; a source is a capture. */
async function inputOf(operands: readonly string[]): Promise<readonly string[] | ByteSource> {
  if (operands.length > 0 && operands[0] !== "-") return operands;
  if (operands.length === 0 && Deno.stdin.isTerminal()) {
    throw new UsageError(`HEX is missing ("-" reads it from the terminal)`);
  }
  const input = await readInput(new ByteSource(Deno.stdin.readable));
  return typeof input === "string" ? [input] : input;
}

/** What one operand is, or what several are. */
export interface Parts {
  readonly grh?: Grh;
  readonly completion?: WorkCompletion;
  readonly packet?: RocePacket;
}

export type Kind = keyof Parts;

/**
 * Reads one operand.
 *
 * @throws {UsageError} If it cannot be explained.
 */
export function readPart(bytes: Uint8Array<ArrayBuffer>, as?: Kind): Parts {
  const { length } = bytes;
  const isGrh = as === "grh" ? length >= Grh.SIZE : as === undefined && length === Grh.SIZE;
  if (isGrh) return { grh: new Grh(bytes) };
  const packet = as === undefined || as === "packet" ? readPacket(bytes) : undefined;
  if (packet !== undefined) return { packet };
  if (as !== "packet" && as !== "grh" && length === WC_SIZE) {
    return { completion: readCompletion(bytes) };
  }
  if (length === 0) throw new UsageError("there are no bytes to explain");
  const sizes = `a GRH has ${Grh.SIZE} bytes, a work completion ${WC_SIZE}`;
  throw new UsageError(
    as === undefined
      ? `the ${length} bytes are nothing known: ${sizes}, and they are no RoCE packet`
      : `the ${length} bytes are no ${as}${as === "packet" ? " of RoCE" : `: ${sizes}`}`,
  );
}

export interface Explained {
  readonly sections: readonly Section[];
  /** What they say, or why there is no reply path. */
  readonly received: Received | string;
}

/**
 * Explains a packet, a GRH, a completion, or a completion and its GRH.
 *
 * @throws {UsageError} If the parts do not belong together.
 */
export function explainParts(parts: readonly Parts[]): Explained {
  const all: Parts = Object.assign({}, ...parts);
  if (all.packet !== undefined && parts.length === 1) return explainPacket(all.packet);
  if (all.packet !== undefined || Object.keys(all).length < parts.length) {
    throw new UsageError("only a work completion and its GRH can be explained together");
  }
  return explainReceive(all.completion, all.grh);
}

function explainPacket({ sections, grh, sl, srcQp, qkey, opcode }: RocePacket): Explained {
  const wc = { wcFlags: WcFlags.GRH, slid: 0, sl, dlidPathBits: 0 };
  const received = srcQp === undefined
    ? `${opcode} is a packet of a connection: the receiver's queue pair knows its peer`
    : faultOf(grh) ?? { wc, grh, srcQp, qkey };
  return { sections, received };
}

function explainReceive(wc: WorkCompletion | undefined, grh: Grh | undefined): Explained {
  const sections = [
    ...wc === undefined ? [] : [completionSection(wc)],
    ...grh === undefined ? [] : [grhSection(grh)],
  ];
  const assumed = { wcFlags: WcFlags.GRH, slid: 0, sl: 0, dlidPathBits: 0 };
  const usesGrh = wc === undefined || (wc.wcFlags & WcFlags.GRH) !== 0;
  const reason = wc && whyNone(wc, grh) || (usesGrh ? grh && faultOf(grh) : undefined);
  const received = { wc: wc ?? assumed, grh, srcQp: wc?.srcQp, qkey: undefined };
  return { sections, received: reason ?? received };
}

/** Why a completion has no reply path. */
function whyNone(wc: WorkCompletion, grh: Grh | undefined): string | undefined {
  if (!wc.ok) return "the request failed: the completion does not name a sender";
  if ((wc.opcode & WcOpcode.RECV) === 0) return "the completion is not of a receive";
  if (wc.wcFlags & WcFlags.GRH && grh === undefined) {
    return "the packet has a GRH: give the 40 bytes before its payload too";
  }
}

function replyOf({ received }: Explained, receiver: Receiver | undefined): Section {
  if (typeof received === "string") return noReply(received);
  try {
    return replySection(received, receiver);
  } catch (error) {
    if (!(error instanceof VerbsError)) throw error;
    return noReply(error.message);
  }
}
