import { encodeAarch64 } from "./aarch64.ts";
import { type ElfMachine, writeSharedObject } from "./elf.ts";
import { type Arch, checkThunks, type Thunk } from "./thunk.ts";
import { ThunksUnavailable } from "./unavailable.ts";
import { encodeX86 } from "./x86_64.ts";

interface Machine extends ElfMachine {
  readonly encode: (thunk: Thunk, errnoLocation: bigint) => Uint8Array;
}

/** The machines that there is machine code for. */
export const MACHINES: Record<Arch, Machine> = {
  x86_64: { machine: 62, /* EM_X86_64 */ pageSize: 4096, encode: encodeX86 },
  // Kernels may be built for pages of 4, 16 or 64 KiB.
  aarch64: {
    machine: 183, /* EM_AARCH64 */
    pageSize: 65536,
    encode: encodeAarch64,
  },
};

/**
 * Builds an ELF shared object that exports one function per thunk.
 *
 * @param thunks The functions, in any order.
 * @param arch The architecture to write for, `Deno.build.arch` to run it here.
 * @param errnoLocation Address of `__errno_location` in the process that will run it; ignored where no thunk keeps
 * errno.
 * @returns The file's bytes, for {@linkcode loadImage}.
 * @throws {TypeError} For a name that is no C identifier or is there twice, or a path that is empty or lacks a first
 * argument to start from.
 * @throws {RangeError} For an address, an offset or a number of parameters out of range.
 * @throws {ThunksUnavailable} For another architecture.
 */
export function buildImage(
  thunks: readonly Thunk[],
  arch: Arch,
  errnoLocation: bigint,
): Uint8Array<ArrayBuffer> {
  if (!Object.hasOwn(MACHINES, arch)) {
    throw new ThunksUnavailable(
      `Cannot build thunks: there is no machine code for "${arch}"`,
    );
  }
  checkThunks(thunks, errnoLocation);
  const machine = MACHINES[arch];
  const functions = thunks.map((thunk) => ({
    name: thunk.name,
    code: machine.encode(thunk, errnoLocation),
  }));
  return writeSharedObject("ibverbs-thunks", functions, machine);
}
