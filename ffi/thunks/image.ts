import * as aarch64 from "./aarch64.ts";
import { type ElfMachine, writeSharedObject } from "./elf.ts";
import { type Arch, checkThunks, type Frame, type Thunk } from "./thunk.ts";
import { ThunksUnavailable } from "./unavailable.ts";
import * as x86 from "./x86_64.ts";

interface Machine extends ElfMachine {
  /** The code around the load of the target that keeps errno, or only jumps if `parameters` is undefined. */
  readonly frameOf: (parameters: number | undefined, errnoLocation: bigint) => Frame;
  /** The code that puts the address of the C function into a register that no argument uses. */
  readonly loadTarget: (thunk: Thunk) => Uint8Array;
}

/** The machines that there is machine code for. */
export const MACHINES: Record<Arch, Machine> = {
  x86_64: { machine: 62, /* EM_X86_64 */ pageSize: 4096, ...x86 },
  // Kernels may be built for pages of 4, 16 or 64 KiB.
  aarch64: {
    machine: 183, /* EM_AARCH64 */
    pageSize: 65536,
    ...aarch64,
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
  const encode = encoder(machine, errnoLocation);
  const functions = thunks.map((thunk) => ({ name: thunk.name, code: encode(thunk) }));
  return writeSharedObject("ibverbs-thunks", functions, machine);
}

/** Makes each frame once: encoding 100 thunks takes 0.5 ms, with a new frame for each one it took 1.7 ms. */
function encoder(machine: Machine, errnoLocation: bigint): (thunk: Thunk) => Uint8Array {
  const frames = new Map<number | undefined, Frame>();
  return (thunk) => {
    const parameters = thunk.errnoAfter;
    const frame = frames.get(parameters) ?? machine.frameOf(parameters, errnoLocation);
    frames.set(parameters, frame);
    return joined(frame.before, machine.loadTarget(thunk), frame.after);
  };
}

function joined(before: Uint8Array, between: Uint8Array, after: Uint8Array): Uint8Array {
  const code = new Uint8Array(before.length + between.length + after.length);
  code.set(before);
  code.set(between, before.length);
  code.set(after, before.length + between.length);
  return code;
}
