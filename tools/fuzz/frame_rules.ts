/** What a hostile peer sends over a connection of net, and what the connection makes of it by the rules of its protocol. */

import { WcStatus } from "../../mod.ts";
import { FrameType } from "../../net/rc/protocol.ts";
import { bytes } from "./inputs.ts";
import { fc } from "./target.ts";

/** The messages that a peer may send before the program reads one. */
export const CREDITS = 4;
const { SUCCESS, LOC_LEN_ERR, LOC_PROT_ERR, GENERAL_ERR } = WcStatus;

/** Mostly the first value. */
const often = <T>(first: T, ...others: T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(first) }, fc.constantFrom(...others));

export const frame = fc.record({
  type: fc.oneof({ weight: 4, arbitrary: fc.constantFrom(1, 1, 1, 2, 3, 4, 5) }, fc.nat(15)),
  credits: often(0, 1, 7, 0xfff_ffff),
  payload: bytes(0, 64),
  kind: often<"message" | "plain" | "write">("message", "plain", "write"),
  status: often<number>(SUCCESS, LOC_LEN_ERR, LOC_PROT_ERR, GENERAL_ERR),
});
export type Frame = typeof frame extends fc.Arbitrary<infer T> ? T : never;

/** What the program sees of frames. */
export function judge(
  frames: readonly Frame[],
): { messages: Uint8Array[]; writes: number[]; end: string } {
  const messages: Uint8Array[] = [];
  const writes: number[] = [];
  let ended = false;
  const fault = frames.find(({ type, credits, payload, kind, status }) => {
    if (status !== SUCCESS) return true;
    if (kind !== "write" && (kind === "plain" || credits > 0)) return true;
    if (kind === "write" || type === FrameType.DATA) {
      if (ended || messages.length + writes.length === CREDITS) return true;
      if (kind === "message") messages.push(payload);
      else writes.push(immDataOf({ type, credits }));
      return false;
    }
    ended ||= type === FrameType.END || type === FrameType.BYE;
    return type === 0 || type > FrameType.BYE;
  });
  const open = fault === undefined ? "open" : fault.status === SUCCESS ? "violation" : "broken";
  return { messages, writes, end: ended ? "end" : open };
}

export function immDataOf({ type, credits }: Pick<Frame, "type" | "credits">): number {
  return (type << 28 | credits) >>> 0;
}
