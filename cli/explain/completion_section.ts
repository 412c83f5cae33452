/** A work completion in words. */

import { structs } from "@rdma/ibverbs/ffi";
import { Grh, nameOf, namesOf, WcFlags, WcOpcode, WcStatus, WorkCompletion } from "@rdma/ibverbs";
import { hexRow, type Row, row, type Section } from "./section.ts";

/** Bytes of a `struct ibv_wc`. */
export const WC_SIZE: number = structs.ibv_wc.size;

/** Reads a `struct ibv_wc` in the byte order of the machine that polled it. */
export function readCompletion(bytes: Uint8Array<ArrayBuffer>): WorkCompletion {
  return new WorkCompletion(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 0);
}

/** A completion. Only the fields that are valid are shown. */
export function completionSection(wc: WorkCompletion): Section {
  const rows = [
    row("wrId", wc.wrId),
    row("status", nameOf(WcStatus, wc.status), `${nameOf(WcStatus, wc.status)} (${wc.status})`),
    hexRow("vendorErr", wc.vendorErr, 1),
    hexRow("qpNum", wc.qpNum, 6),
  ];
  return {
    key: "completion",
    title: "Work completion (struct ibv_wc)",
    rows: wc.ok ? [...rows, ...successRows(wc)] : [...rows, failureRow(wc)],
  };
}

function successRows(wc: WorkCompletion): Row[] {
  const flags = namesOf(WcFlags, wc.wcFlags);
  return [
    row("opcode", nameOf(WcOpcode, wc.opcode), `${nameOf(WcOpcode, wc.opcode)} (${wc.opcode})`),
    row("byteLen", wc.byteLen, `${wc.byteLen} bytes${grhPart(wc)}`),
    row("wcFlags", flags, wc.wcFlags === 0 ? "none" : flags.replaceAll("|", " | ")),
    ...wc.wcFlags & WcFlags.WITH_IMM ? [hexRow("immData", wc.immData, 8)] : [],
    ...wc.wcFlags & WcFlags.WITH_INV ? [hexRow("invalidatedRkey", wc.invalidatedRkey, 8)] : [],
    hexRow("srcQp", wc.srcQp, 6),
    row("pkeyIndex", wc.pkeyIndex),
    hexRow("slid", wc.slid, 4),
    row("sl", wc.sl),
    row("dlidPathBits", wc.dlidPathBits),
  ];
}

/** How much of the bytes is the GRH. */
function grhPart({ opcode, wcFlags, byteLen }: WorkCompletion): string {
  const hasGrh = opcode === WcOpcode.RECV && (wcFlags & WcFlags.GRH) !== 0;
  return hasGrh && byteLen >= Grh.SIZE
    ? `: ${Grh.SIZE} of GRH, ${byteLen - Grh.SIZE} of message`
    : "";
}

function failureRow(wc: WorkCompletion): Row {
  try {
    wc.check();
  } catch (error) {
    if (error instanceof Error) return row("meaning", error.message);
  }
  return row("meaning", null, "none");
}
