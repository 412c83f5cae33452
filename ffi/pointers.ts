/** Addresses, pointers and handles: everything above ffi/ uses them through these functions only. */

import type { Handle } from "./handles.ts";

/**
 * The address of a buffer's first byte; 0 if the buffer is empty. The address is valid until the buffer is detached or
 * collected.
 *
 * @throws {TypeError} If it is not a buffer or a view of one.
 * @category Pointers and memory
 */
export function bufferAddress(source: ArrayBufferView | ArrayBufferLike): bigint {
  const view = ArrayBuffer.isView(source) ? source : new DataView(source);
  return Deno.UnsafePointer.value(Deno.UnsafePointer.of(view as DataView<ArrayBuffer>));
}

/**
 * A pointer to a buffer's first byte. The pointer object keeps the buffer alive; it does not keep it attached.
 *
 * @throws {TypeError} If the buffer is empty or detached.
 * @category Pointers and memory
 */
export function bufferPointer(view: ArrayBufferView): Deno.PointerObject {
  const pointer = Deno.UnsafePointer.of(view as Uint8Array<ArrayBuffer>);
  if (pointer === null) throw new TypeError("Cannot point to buffer: it is empty");
  return pointer;
}

/**
 * The address that a handle holds; 0 for `null`. Two handles name the same object if their addresses are equal.
 *
 * @category Pointers and memory
 */
export function handleAddress(handle: Deno.PointerValue): bigint {
  return Deno.UnsafePointer.value(handle);
}

/**
 * The handle that holds an address; `null` for 0. Nothing checks what is at the address.
 *
 * @category Pointers and memory
 */
export function handleAt<H extends Handle>(address: bigint): H | null {
  return Deno.UnsafePointer.create<unknown>(address) as H | null;
}

/** A text as a C string. */
export function cString(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${text}\0`);
}

/**
 * The C string that starts `offset` bytes after a pointer.
 *
 * @category Pointers and memory
 */
export function readCString(pointer: Deno.PointerObject, offset = 0): string {
  return Deno.UnsafePointerView.getCString(pointer, offset);
}

/** What a function of C that names a number returns; "unknown" if the number has no name. */
export function textOrUnknown(pointer: Deno.PointerValue): string {
  return pointer === null ? "unknown" : readCString(pointer);
}

/**
 * The first `count` pointers of a C array of pointers.
 *
 * @throws {TypeError} If one of them is NULL.
 * @category Pointers and memory
 */
export function readPointers(array: Deno.PointerObject, count: number): Deno.PointerObject[] {
  const view = new Deno.UnsafePointerView(array);
  return Array.from({ length: count }, (_, i) => {
    const pointer = view.getPointer(8 * i);
    if (pointer === null) throw new TypeError(`Cannot read pointer ${i}: it is NULL`);
    return pointer;
  });
}

/**
 * The memory that a pointer points to, for reading and writing. Nothing checks its length, or that it still exists.
 *
 * @category Pointers and memory
 */
export function nativeView(pointer: Deno.PointerObject, length: number): DataView<ArrayBuffer> {
  return new DataView(Deno.UnsafePointerView.getArrayBuffer(pointer, length));
}
