/**
 * The inputs of `ibv_init_ah_from_wc`.
 *
 * @module
 */

import { Grh, grhView } from "../address/grh.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { instance, object, uint16, uint32, uint8 } from "../core/checks.ts";
import type { WcAddress } from "../completion/work_completion.ts";

/** Stands for a GRH that is left out: the C function reads one even if the completion has none. */
const NO_GRH = new DataView(new ArrayBuffer(Grh.SIZE));

/**
 * Reads the address of a completion, each property once. Bits that are out of range would change other fields.
 *
 * @throws {TypeError} If an attribute is missing or not an integer.
 * @throws {RangeError} If an attribute does not fit its C type.
 */
export function checkWc(wc: WcAddress): WcAddress {
  const { wcFlags, slid, sl, dlidPathBits } = object(wc, "work completion");
  return {
    wcFlags: uint32(wcFlags, "wcFlags"),
    slid: uint16(slid, "slid"),
    sl: uint8(sl, "sl"),
    dlidPathBits: uint8(dlidPathBits, "dlidPathBits"),
  };
}

/** The codec of the part of `struct ibv_wc` that addresses are made from. */
export const wcCodec: AttributeCodec<WcAddress> = codecOf<"ibv_wc", WcAddress>(
  "ibv_wc",
  "work completion",
  { wcFlags: {}, slid: {}, sl: {}, dlidPathBits: {} },
);

/**
 * The bytes of a GRH, without a copy; zeros if it is left out.
 *
 * @throws {TypeError} If it is not a {@linkcode Grh}.
 */
export function viewOfGrh(grh: Grh | undefined): DataView<ArrayBuffer> {
  if (grh === undefined) return NO_GRH;
  // V8 compiles a test against a class that it knows; the general one takes 50 ns.
  if (!(grh instanceof Grh)) instance(grh, Grh, "grh");
  return grhView(grh);
}

/** The GRH in the bytes; undefined if it was left out. */
export function grhIn(view: DataView, offset: number): Grh | undefined {
  if (view === NO_GRH) return undefined;
  return new Grh(new Uint8Array(view.buffer, view.byteOffset + offset, Grh.SIZE));
}
