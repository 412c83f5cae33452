/**
 * Checks of arguments before native code is reached.
 *
 * @module
 */

/** Checks an integer's range; `what` reads "sgidIndex". Returns the value. */
export function integer(value: number, what: string, min: number, max: number): number {
  if (typeof value !== "number" || !Number.isInteger(value)) {
    throw new TypeError(`Cannot use ${what} ${String(value)}: it is not an integer`);
  }
  if (value < min || value > max) {
    throw new RangeError(`Cannot use ${what} ${value}: it is not within ${min} to ${max}`);
  }
  return value;
}

/** Checks an unsigned 8-bit integer. */
export function uint8(value: number, what: string): number {
  return integer(value, what, 0, 0xff);
}

/** Checks an unsigned 16-bit integer. */
export function uint16(value: number, what: string): number {
  return integer(value, what, 0, 0xffff);
}

/** Checks an unsigned 24-bit integer, such as a queue pair number or a PSN. */
export function uint24(value: number, what: string): number {
  return integer(value, what, 0, 0xff_ffff);
}

/** Checks an unsigned 32-bit integer. */
export function uint32(value: number, what: string): number {
  return integer(value, what, 0, 0xffff_ffff);
}

/** Checks an integer that C takes as a positive `int`. */
export function positiveInt(value: number, what: string): number {
  return integer(value, what, 1, 0x7fff_ffff);
}

/** Checks an unsigned 64-bit integer. */
export function uint64(value: bigint, what: string): bigint {
  if (typeof value !== "bigint") {
    throw new TypeError(`Cannot use ${what} ${String(value)}: it is not a bigint`);
  }
  if (value < 0n || value > 0xffff_ffff_ffff_ffffn) {
    throw new RangeError(`Cannot use ${what} ${value}: it does not fit 64 bits`);
  }
  return value;
}
