import { aarch64 } from "./aarch64.ts";
import { type ElfMachine, type SharedObject, writeSharedObject } from "./elf.ts";
import type { Arch, Code, Frame, Thunk } from "./thunk.ts";
import { x86 } from "./x86_64.ts";

/** The machines that have machine code here. */
export const MACHINES: Record<Arch, ElfMachine & Code> = {
  x86_64: { machine: 62, /* EM_X86_64 */ pageSize: 4096, ...x86 },
  // Kernels may be built for pages of 4, 16 or 64 KiB.
  aarch64: { machine: 183, /* EM_AARCH64 */ pageSize: 65536, ...aarch64 },
};

/**
 * Builds an ELF shared object that exports one function per thunk.
 *
 * @param errnoLocation Address of `__errno_location` in the process that will run it.
 */
export function buildImage(
  thunks: readonly Thunk[],
  arch: Arch,
  errnoLocation: bigint,
): SharedObject {
  const machine = MACHINES[arch];
  // Encoding takes a third of the time with one frame for all thunks of as many parameters.
  const frames = new Map<number | undefined, Frame>();
  const functions = thunks.map((thunk) => {
    const parameters = thunk.errnoAfter;
    const frame = frames.get(parameters) ?? machine.frameOf(parameters, errnoLocation);
    frames.set(parameters, frame);
    return { name: thunk.name, code: [frame.before, machine.loadTarget(thunk), frame.after] };
  });
  return writeSharedObject("ibverbs-thunks", functions, machine);
}
