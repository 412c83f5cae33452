// Machine code for aarch64, AAPCS64 calling convention. Each instruction stands beside its assembly.
import type { Code, Frame, Thunk } from "./thunk.ts";

const BTI_C = 0xd503245f; //          bti c
const RET = 0xd65f03c0; //            ret
const MOV_X29_SP = 0x910003fd; //     mov x29, sp
const BR_X16 = 0xd61f0200; //         br x16
const BLR_X16 = 0xd63f0200; //        blr x16
const STR_WZR_X0 = 0xb900001f; //     str wzr, [x0]
const LDR_W9_X9 = 0xb9400129; //      ldr w9, [x9]
const STR_W9_X10 = 0xb9000149; //     str w9, [x10]

const SP = 31;

// The frame of a thunk that keeps errno, from sp up; sp stays a multiple of 16.
const ARGUMENTS = 16; // above x29 and x30: x0 to x7
const ERRNO = 80; //     address of this thread's errno, the same before and after the call
const FRAME = 96;

/** The machine code of aarch64. */
export const aarch64: Code = { frameOf, loadTarget };

function frameOf(parameters: number | undefined, errnoLocation: bigint): Frame {
  return parameters === undefined
    ? { before: bytesOf([BTI_C]), after: bytesOf([BR_X16]) }
    : keepErrno(parameters, errnoLocation);
}

/** Instructions as bytes. */
export function bytesOf(code: readonly number[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(4 * code.length));
  code.forEach((instruction, i) => bytes.setUint32(4 * i, instruction, true));
  return new Uint8Array(bytes.buffer);
}

function keepErrno(parameters: number, errnoLocation: bigint): Frame {
  const pairs = [0, 2, 4, 6];
  const before = [
    BTI_C,
    pair(0xa9800000, 29, -FRAME), //                             stp x29, x30, [sp, #-FRAME]!
    MOV_X29_SP,
    ...pairs.map((i) => pair(0xa9000000, i, ARGUMENTS + 8 * i)), // stp xi, xi+1, [sp, #...]
    ...loadAddress(errnoLocation),
    BLR_X16,
    memory(0xf9000000, 0, SP, ERRNO), //                         str x0, [sp, #ERRNO]
    STR_WZR_X0,
    ...pairs.map((i) => pair(0xa9400000, i, ARGUMENTS + 8 * i)), // ldp xi, xi+1, [sp, #...]
  ];
  const after = [
    BLR_X16,
    memory(0xf9400000, 9, SP, ERRNO), //                         ldr x9, [sp, #ERRNO]
    LDR_W9_X9,
    memory(0xf9400000, 10, SP, ARGUMENTS + 8 * parameters), //   ldr x10, [sp, #CELL]
    STR_W9_X10,
    pair(0xa8c00000, 29, FRAME), //                              ldp x29, x30, [sp], #FRAME
    RET,
  ];
  return { before: bytesOf(before), after: bytesOf(after) };
}

/** Puts the address of the C function into x16, which belongs to code between caller and callee. */
function loadTarget({ target }: Thunk): Uint8Array {
  if ("address" in target) return bytesOf(loadAddress(target.address));
  return bytesOf(target.path.flatMap((offset, i) => {
    const from = i === 0 ? target.argument ?? 0 : 16;
    return offset >= 0
      ? [memory(0xf9400000, 16, from, offset)] // ldr x16, [from, #offset]
      // sub x16, from, #-offset; ldr x16, [x16]
      : [0xd1000010 | -offset << 10 | from << 5, memory(0xf9400000, 16, 16, 0)];
  }));
}

/** Puts an address into x16. */
export function loadAddress(address: bigint): number[] {
  const part = (shift: bigint) => Number(address >> shift & 0xffffn) << 5;
  return [
    0xd2800010 | part(0n), //  movz x16, #bits 0 to 15
    0xf2a00010 | part(16n), // movk x16, #bits 16 to 31, lsl #16
    0xf2c00010 | part(32n), // movk x16, #bits 32 to 47, lsl #32
    0xf2e00010 | part(48n), // movk x16, #bits 48 to 63, lsl #48
  ];
}

/** A load or store of one 64-bit register at [base, #offset]. */
function memory(opcode: number, register: number, base: number, offset: number): number {
  return opcode | offset / 8 << 10 | base << 5 | register;
}

/** A load or store of two neighbouring 64-bit registers relative to sp. */
function pair(opcode: number, register: number, offset: number): number {
  return opcode | (offset / 8 & 0x7f) << 15 | (register + 1) << 10 | SP << 5 | register;
}
