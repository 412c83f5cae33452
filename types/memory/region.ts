import type { IbvMr } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { readNative } from "../../ffi/struct.ts";
import { integer } from "../../internal/checks.ts";
import { call } from "../core/errors.ts";
import type { Resource } from "../core/resource.ts";
import type { Memory } from "./memory_source.ts";
import type { ProtectionDomain } from "./protection_domain.ts";

/** A native memory region to make a `Region` of. */
export interface NativeRegion {
  readonly pd: ProtectionDomain;
  readonly handle: IbvMr;
  /** The address of the first byte in work requests and for peers. */
  readonly addr: bigint;
  /** Length in bytes. */
  readonly length: number;
  /** The memory, if this process can access it. The region keeps it and frees it. */
  readonly memory?: Memory | undefined;
  /** The bytes of a part, if they are not those of one piece of memory. */
  readonly bytesAt?: ((offset: number, length: number) => Uint8Array<ArrayBuffer>) | undefined;
  /** Further objects that the region was made from. */
  readonly parents?: readonly Resource[] | undefined;
  /** Destroys the native region; `ibv_dereg_mr` if it is left out. */
  readonly destroy?: ((handle: IbvMr) => void) | undefined;
}

/** The inside of a memory region. */
export class Region {
  readonly pd: ProtectionDomain;
  readonly handle: IbvMr;
  readonly addr: bigint;
  readonly length: number;
  readonly lkey: number;
  readonly rkey: number;
  readonly parents: readonly Resource[];
  /** Whether the object of the region is open. */
  isOpen = true;
  readonly #view: DataView | undefined;
  readonly #bytesAt: NativeRegion["bytesAt"];
  /** The address of the first byte, if the addresses of slices are those of this process. */
  readonly #start: bigint | undefined;
  /** The memory that is registered. After a failed attempt to register other memory, more is kept. */
  readonly #memories: Memory[];
  /** It is undefined if another object destroys the native region. */
  #destroy: ((handle: IbvMr) => void) | undefined;

  constructor(native: NativeRegion) {
    const { pd, handle, addr, length, memory, parents = [], destroy = deregister } = native;
    this.pd = pd;
    this.handle = handle;
    this.addr = addr;
    this.length = length;
    this.lkey = readNative(handle, structs.ibv_mr.fields.lkey);
    this.rkey = readNative(handle, structs.ibv_mr.fields.rkey);
    this.parents = parents;
    this.#memories = memory === undefined ? [] : [memory];
    this.#view = memory && viewOf(memory.bytes);
    this.#bytesAt = native.bytesAt;
    this.#start = memory?.start === addr ? addr : undefined;
    this.#destroy = destroy;
  }

  /** The memory, if this process can access it. */
  get memory(): Memory | undefined {
    return this.#memories[0];
  }

  /** The bytes, shared with the device. Access throws when the region is disposed. */
  get view(): DataView {
    if (this.#view !== undefined) return this.#view;
    throw new TypeError("Cannot access memory region: its memory is not of this process");
  }

  /** The bytes of a part, shared with the device. */
  bytesAt(offset: number, length: number): Uint8Array<ArrayBuffer> {
    this.assertWithin(offset, length);
    if (this.#bytesAt !== undefined) return this.#bytesAt(offset, length);
    const { buffer, byteOffset } = this.view;
    return new Uint8Array(buffer as ArrayBuffer, byteOffset + offset, length);
  }

  /** Throws a TypeError if the region is disposed, or its buffer is detached. */
  assertAttached(): void {
    if (!this.isOpen) throw new TypeError("Cannot use memory region: it is disposed");
    if (this.#memories[0]?.bytes.length === 0) {
      throw new TypeError("Cannot use memory region: its buffer is detached");
    }
  }

  /** Checks that native code may read the memory at the addresses of slices. Returns the address of the first byte. */
  assertReadable(): bigint {
    this.assertAttached();
    if (this.#start === undefined) {
      throw new TypeError("Cannot read memory region: its addresses are not those of this process");
    }
    return this.#start;
  }

  /** Checks that a part lies within the region, which is open. */
  assertWithin(offset: number, length: number): void {
    this.assertAttached();
    integer(offset, "offset", 0, this.length);
    integer(length, "length", 0, this.length - offset);
  }

  /** Keeps more memory until the region is deregistered. */
  add(memory: Memory): void {
    this.#memories.push(memory);
  }

  /** Leaves the native region and its memory to another object. */
  handOver(): void {
    this.#destroy = undefined;
    this.#memories.length = 0;
  }

  /** Destroys the native region, then frees its memory. */
  end(): void {
    this.#destroy?.(this.handle);
    for (const memory of this.#memories) memory.free();
  }
}

/** Deregisters memory. */
export function deregister(handle: IbvMr): void {
  call("ibv_dereg_mr", "deregister memory", [handle]);
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
