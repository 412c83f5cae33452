import {
  instanceOf,
  isForeign,
  noneOf,
  nothingBehind,
  object,
  snapshot,
  uint16,
  uint32,
  uint8,
} from "../../internal/checks.ts";
import { type AbortOptions, checkSignal } from "../../wait/abort.ts";
import { Grh, grhView } from "../address/grh.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import type { WcAddress } from "../completion/work_completion.ts";
import { checkPort, type Context } from "../device/context.ts";

/** Takes the place of a GRH that is left out: the C function reads one even if the completion has none. */
const NO_GRH = new DataView(new ArrayBuffer(Grh.SIZE));

/**
 * Options of calls about a received packet.
 *
 * @category Address handles
 */
export interface PacketOptions extends AbortOptions {
  /** The packet's GRH. It may be left out if the completion's flags lack `WcFlags`.GRH. */
  readonly grh?: Grh | undefined;
}

/** Reads what a call about a packet is given: a GRH alone, or options; and what is behind it, which is refused. */
export function readPacketOptions(
  given: Grh | PacketOptions | undefined,
  extra: unknown,
): { readonly grh: Grh | undefined; readonly signal: AbortSignal | undefined } {
  nothingBehind(extra, "{ grh, signal }");
  if (given === undefined || given instanceof Grh) return { grh: given, signal: undefined };
  const { grh, signal } = snapshot(given, "options", ["grh", "signal"]);
  return { grh, signal: checkSignal(signal) };
}

/** A received packet, checked. */
export interface Packet {
  readonly portNum: number;
  readonly wcFlags: number;
  readonly grh: Grh | undefined;
  /** The completion as a `struct ibv_wc`. */
  readonly wcView: DataView<ArrayBuffer>;
  readonly grhView: DataView<ArrayBuffer>;
}

export function readPacket(
  context: Context,
  portNum: number,
  wc: WcAddress,
  grh: Grh | undefined,
): Packet {
  const address = checkWc(wc);
  const bytes = viewOfGrh(grh);
  checkPort(context, portNum);
  const { view } = wcCodec.write(address);
  return { portNum, wcFlags: address.wcFlags, grh, wcView: view, grhView: bytes };
}

/**
 * Reads the address of a completion, each property once. Bits that are out of range would change other fields.
 *
 * @throws {TypeError} If an attribute is missing or not an integer.
 * @throws {RangeError} If an attribute does not fit its C type.
 */
export function checkWc(wc: WcAddress): WcAddress {
  const { wcFlags, slid, sl, dlidPathBits } = object(wc, "work completion");
  if (wcFlags === undefined && isForeign(wc, ["wcFlags"])) {
    // In ibv_create_ah_from_wc() of C the port is last.
    const hint = wc instanceof Grh ? "; the order is portNum, wc, grh" : "";
    throw noneOf(wc, "work completion", hint);
  }
  return {
    wcFlags: uint32(wcFlags, "wcFlags"),
    slid: uint16(slid, "slid"),
    sl: uint8(sl, "sl"),
    dlidPathBits: uint8(dlidPathBits, "dlidPathBits"),
  };
}

/** The codec of the part of `struct ibv_wc` that addresses are made from. */
export const wcCodec: AttributeCodec<WcAddress> = codecOf(
  "ibv_wc",
  "work completion",
  {
    wcFlags: {},
    slid: {},
    sl: {},
    dlidPathBits: {},
  },
);

/** The bytes of a GRH, without a copy; zeros if it is left out. */
export function viewOfGrh(grh: Grh | undefined): DataView<ArrayBuffer> {
  return grh === undefined ? NO_GRH : grhView(instanceOf(grh, Grh, "grh"));
}

/** The GRH in the bytes; undefined if it was left out. */
export function grhIn(view: DataView, offset: number): Grh | undefined {
  if (view === NO_GRH) return undefined;
  return new Grh(new Uint8Array(view.buffer, view.byteOffset + offset, Grh.SIZE));
}
