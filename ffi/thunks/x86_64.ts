// Machine code for x86-64, System V calling convention. Each instruction stands beside its assembly (AT&T).
import type { Code, Frame, Thunk } from "./thunk.ts";

// The frame of a thunk that keeps errno, from %rsp up. With the return address it is a multiple of 16, as calls
// require.
const OUTGOING = 0; //        the seventh argument of the call
const ERRNO = 8; //           address of this thread's errno, the same before and after the call
const ARGUMENTS = 16; //      the six register arguments
const FRAME = 72;
const INCOMING = FRAME + 8; // stack arguments of the thunk itself, above the return address

const ENDBR64 = [0xf3, 0x0f, 0x1e, 0xfa];

/** REX prefix and ModRM byte of a move between a register and the frame: %rdi, %rsi, %rdx, %rcx, %r8, %r9. */
const REGISTERS = [0x487c, 0x4874, 0x4854, 0x484c, 0x4c44, 0x4c4c];

/** Moves all register arguments: 0x89 to the frame, `mov %rdi, ARGUMENTS(%rsp)`; 0x8b back. */
function moveArguments(opcode: 0x89 | 0x8b): number[] {
  return REGISTERS.flatMap((code, i) => [code >> 8, opcode, code & 0xff, 0x24, ARGUMENTS + 8 * i]);
}

// deno-fmt-ignore
const PASS_SEVENTH = [
  0x48, 0x8b, 0x44, 0x24, INCOMING, //       mov INCOMING(%rsp), %rax
  0x48, 0x89, 0x44, 0x24, OUTGOING, //       mov %rax, OUTGOING(%rsp)
];

/** The machine code of x86-64. */
export const x86: Code = { frameOf, loadTarget };

function frameOf(parameters: number | undefined, errnoLocation: bigint): Frame {
  if (parameters !== undefined) return keepErrno(parameters, errnoLocation);
  const jump = Uint8Array.of(0x41, 0xff, 0xe3); // jmp *%r11
  return { before: Uint8Array.from(ENDBR64), after: jump };
}

function keepErrno(parameters: number, errnoLocation: bigint): Frame {
  // deno-fmt-ignore
  const before = ENDBR64.concat(
    [0x48, 0x83, 0xec, FRAME], //                sub $FRAME, %rsp
    moveArguments(0x89),
    [0x48, 0xb8], quad(errnoLocation), //        movabs $errnoLocation, %rax
    [0xff, 0xd0], //                             call *%rax
    [0x48, 0x89, 0x44, 0x24, ERRNO], //          mov %rax, ERRNO(%rsp)
    [0xc7, 0x00, 0, 0, 0, 0], //                 movl $0, (%rax)
    parameters > REGISTERS.length ? PASS_SEVENTH : [],
    moveArguments(0x8b),
  );
  // deno-fmt-ignore
  const after = [
    0x31, 0xc0, //                               xor %eax, %eax, for variadic functions: no vector arguments
    0x41, 0xff, 0xd3, //                         call *%r11
    0x48, 0x8b, 0x4c, 0x24, ERRNO, //            mov ERRNO(%rsp), %rcx
    0x8b, 0x09, //                               mov (%rcx), %ecx
    0x48, 0x8b, 0x54, 0x24, cell(parameters), // mov CELL(%rsp), %rdx
    0x89, 0x0a, //                               mov %ecx, (%rdx)
    0x48, 0x83, 0xc4, FRAME, //                  add $FRAME, %rsp
    0xc3, //                                     ret
  ];
  return { before: Uint8Array.from(before), after: Uint8Array.from(after) };
}

/** Where the pointer to the errno cell, the argument after the C parameters, stands in the frame. */
function cell(parameters: number): number {
  const { length } = REGISTERS;
  return parameters < length ? ARGUMENTS + 8 * parameters : INCOMING + 8 * (parameters - length);
}

/** Puts the address of the C function into %r11, which no argument uses. */
function loadTarget({ target }: Thunk): number[] {
  // movabs $address, %r11
  if ("address" in target) return [0x49, 0xbb, ...quad(target.address)];
  return target.path.flatMap((offset, i) => {
    const from = target.argument ? 0x9e : 0x9f;
    // mov offset(%rsi or %rdi), %r11, then mov offset(%r11), %r11
    return (i === 0 ? [0x4c, 0x8b, from] : [0x4d, 0x8b, 0x9b]).concat(long(offset));
  });
}

/** 32 bits as bytes. */
export function long(value: number): number[] {
  return [value & 0xff, value >> 8 & 0xff, value >> 16 & 0xff, value >> 24 & 0xff];
}

/** 64 bits as bytes. */
export function quad(value: bigint): number[] {
  return long(Number(value & 0xffff_ffffn)).concat(long(Number(value >> 32n)));
}
