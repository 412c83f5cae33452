/**
 * Allocators of parent domains, in machine code. Callbacks into JavaScript could end the process: the engine aborts if
 * one of them makes it discard compiled code that is running (https://github.com/denoland/deno/issues/31122).
 */

import { functionAddress } from "../libc.ts";
import { bytesOf, loadAddress } from "../thunks/aarch64.ts";
import { type SharedObject, writeSharedObject } from "../thunks/elf.ts";
import { MACHINES } from "../thunks/image.ts";
import { loadImage } from "../thunks/memfd.ts";
import type { Arch } from "../thunks/thunk.ts";
import { long, quad } from "../thunks/x86_64.ts";

/** The addresses of `alloc` and `free` of `struct ibv_parent_domain_init_attr`. */
export interface DomainAllocators {
  /** `void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment, uint64_t resource_type)` */
  readonly alloc: bigint;
  /** `void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t resource_type)` */
  readonly free: bigint;
}

interface Code {
  readonly alloc: (alignment: number, alignedAlloc: bigint) => Uint8Array;
  readonly free: (free: bigint) => Uint8Array;
}

// deno-fmt-ignore
const X86_64: Code = {
  alloc: (alignment, alignedAlloc) => Uint8Array.of(
    0xf3, 0x0f, 0x1e, 0xfa, //             endbr64
    0xbe, ...long(alignment), //           mov $alignment, %esi
    0x48, 0x39, 0xce, //                   cmp %rcx, %rsi
    0x48, 0x0f, 0x42, 0xf1, //             cmovb %rcx, %rsi, the larger of both alignments
    0x48, 0x89, 0xf7, //                   mov %rsi, %rdi
    0x48, 0x89, 0xd6, //                   mov %rdx, %rsi, the size
    0x49, 0xbb, ...quad(alignedAlloc), //  movabs $aligned_alloc, %r11
    0x41, 0xff, 0xe3, //                   jmp *%r11
  ),
  free: (free) => Uint8Array.of(
    0xf3, 0x0f, 0x1e, 0xfa, //             endbr64
    0x48, 0x89, 0xd7, //                   mov %rdx, %rdi
    0x49, 0xbb, ...quad(free), //          movabs $free, %r11
    0x41, 0xff, 0xe3, //                   jmp *%r11
  ),
};

const AARCH64: Code = {
  alloc: (alignment, alignedAlloc) =>
    bytesOf([
      0xd503245f, //                                   bti c
      0xd2800001 | (alignment & 0xffff) << 5, //       movz x1, #bits 0 to 15 of the alignment
      0xf2a00001 | alignment >>> 16 << 5, //           movk x1, #bits 16 to 31, lsl #16
      0xeb03003f, //                                   cmp x1, x3
      0x9a838020, //                                   csel x0, x1, x3, hi
      0xaa0203e1, //                                   mov x1, x2, the size
      ...loadAddress(alignedAlloc),
      0xd61f0200, //                                   br x16
    ]),
  free: (free) =>
    bytesOf([
      0xd503245f, //                                   bti c
      0xaa0203e0, //                                   mov x0, x2
      ...loadAddress(free),
      0xd61f0200, //                                   br x16
    ]),
};

const CODE: Record<Arch, Code> = { x86_64: X86_64, aarch64: AARCH64 };

/** The machine code is loaded once for each alignment, and never unloaded. */
const loaded: Map<number, DomainAllocators> = new Map();

/**
 * Allocators that take memory from the C library: `aligned_alloc` and `free`.
 *
 * @param alignment The least alignment in bytes, a power of two below 2^32.
 * @throws {ThunksUnavailable} If the system refuses machine code.
 */
export function domainAllocators(alignment: number): DomainAllocators {
  let allocators = loaded.get(alignment);
  if (allocators === undefined) loaded.set(alignment, allocators = load(alignment));
  return allocators;
}

function load(alignment: number): DomainAllocators {
  const arch = Deno.build.arch as Arch;
  const path = loadImage(allocatorImage(alignment, arch, functionAddress));
  const library = Deno.dlopen(path, {
    domain_alloc: { type: "pointer" },
    domain_free: { type: "pointer" },
  });
  const { domain_alloc, domain_free } = library.symbols;
  // The image stays mapped.
  library.close();
  return {
    alloc: Deno.UnsafePointer.value(domain_alloc),
    free: Deno.UnsafePointer.value(domain_free),
  };
}

/** A shared object with the functions `domain_alloc` and `domain_free`. */
export function allocatorImage(
  alignment: number,
  arch: Arch,
  addressOf: (name: string) => bigint,
): SharedObject {
  const { alloc, free } = CODE[arch];
  const functions = [
    { name: "domain_alloc", code: [alloc(alignment, addressOf("aligned_alloc"))] },
    { name: "domain_free", code: [free(addressOf("free"))] },
  ];
  return writeSharedObject("ibverbs-allocators", functions, MACHINES[arch]);
}
