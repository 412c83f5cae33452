/** errno of the last verb that reports by it, and the system's names for errno values. */

import { addressOf, libc } from "./libc.ts";

/** What verbs.h gives for an operation that is missing; asm-generic/errno.h has one number for both architectures. */
export const EOPNOTSUPP = 95;

/** Where thunks, and the slow calls in their place, leave errno. */
const cell = new Int32Array(1);
let cellPointer: Deno.PointerObject | undefined;
let threadErrno: Int32Array | undefined;
const names = new Map<number, string>();

/**
 * The errno of the last verb that reports failures by errno. It is 0 if that verb did not set it.
 *
 * @category Errors
 */
export function errno(): number {
  return cell[0]!;
}

/** Records errno for a call that did not go through a thunk. */
export function setErrno(value: number): void {
  cell[0] = value;
}

/** The cell as the `int *` that thunks take. */
export function errnoCell(): Deno.PointerObject {
  return cellPointer ??= Deno.UnsafePointer.of(cell)!;
}

/** The address of `__errno_location`, for the thunks. */
export function errnoLocation(): bigint {
  return addressOf("__errno_location");
}

/** errno of this thread as memory: its address never changes, and reading it calls nothing that could overwrite it. */
export function mappedErrno(): Int32Array {
  return threadErrno ??= new Int32Array(
    Deno.UnsafePointerView.getArrayBuffer(libc().__errno_location()!, 4),
  );
}

/**
 * The name of an errno value: that of 22 is `"EINVAL"`.
 *
 * @category Errors
 */
export function errnoName(value: number): string {
  let name = names.get(value);
  if (name === undefined) names.set(value, name = lookUp(value));
  return name;
}

function lookUp(value: number): string {
  const name = libc().strerrorname_np(value);
  return name === null ? `errno ${value}` : Deno.UnsafePointerView.getCString(name);
}

/**
 * The description of an errno value: that of 22 is `"Invalid argument"`.
 *
 * @category Errors
 */
export function errnoDescription(value: number): string {
  const description = libc().strerrordesc_np(value);
  return description === null ? "Unknown error" : Deno.UnsafePointerView.getCString(description);
}
