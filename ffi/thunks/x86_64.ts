// Machine code for x86-64, System V calling convention. Each instruction stands beside its assembly (AT&T).
import type { Thunk } from "./thunk.ts";

const ENDBR64 = [0xf3, 0x0f, 0x1e, 0xfa]; //  endbr64
const JMP_R11 = [0x41, 0xff, 0xe3]; //        jmp *%r11

/** mov %reg, disp8(%rsp) for the integer arguments in order, without the displacement. */
const STORE_ARGUMENT = [
  [0x48, 0x89, 0x7c, 0x24], // mov %rdi, disp(%rsp)
  [0x48, 0x89, 0x74, 0x24], // mov %rsi, disp(%rsp)
  [0x48, 0x89, 0x54, 0x24], // mov %rdx, disp(%rsp)
  [0x48, 0x89, 0x4c, 0x24], // mov %rcx, disp(%rsp)
  [0x4c, 0x89, 0x44, 0x24], // mov %r8, disp(%rsp)
  [0x4c, 0x89, 0x4c, 0x24], // mov %r9, disp(%rsp)
];

/** mov disp8(%rsp), %reg, likewise. */
const LOAD_ARGUMENT = [
  [0x48, 0x8b, 0x7c, 0x24], // mov disp(%rsp), %rdi
  [0x48, 0x8b, 0x74, 0x24], // mov disp(%rsp), %rsi
  [0x48, 0x8b, 0x54, 0x24], // mov disp(%rsp), %rdx
  [0x48, 0x8b, 0x4c, 0x24], // mov disp(%rsp), %rcx
  [0x4c, 0x8b, 0x44, 0x24], // mov disp(%rsp), %r8
  [0x4c, 0x8b, 0x4c, 0x24], // mov disp(%rsp), %r9
];

const REGISTERS = STORE_ARGUMENT.length;

// The frame of a thunk that keeps errno, from %rsp up. With the return address it is a multiple of 16, as calls want.
const OUTGOING = 0; //  the seventh argument of the call
const ERRNO = 8; //     address of this thread's errno, the same before and after the call
const ARGUMENTS = 16; // the six register arguments
const FRAME = 72;
const INCOMING = FRAME + 8; // stack arguments of the thunk itself, above the return address

/** The machine code of one thunk. */
export function encodeX86(thunk: Thunk, errnoLocation: bigint): Uint8Array {
  return Uint8Array.from(
    thunk.errnoAfter === undefined
      ? [...ENDBR64, ...loadTarget(thunk), ...JMP_R11]
      : keepErrno(thunk, thunk.errnoAfter, errnoLocation),
  );
}

function keepErrno(
  thunk: Thunk,
  parameters: number,
  errnoLocation: bigint,
): number[] {
  const inRegisters = Math.min(parameters, REGISTERS);
  const code = [...ENDBR64];
  code.push(0x48, 0x83, 0xec, FRAME); //                     sub $FRAME, %rsp
  for (let i = 0; i < REGISTERS; i++) {
    code.push(...STORE_ARGUMENT[i]!, ARGUMENTS + 8 * i);
  }
  code.push(0x48, 0xb8, ...littleEndian(errnoLocation)); //  movabs $errnoLocation, %rax
  code.push(0xff, 0xd0); //                                  call *%rax
  code.push(0x48, 0x89, 0x44, 0x24, ERRNO); //               mov %rax, ERRNO(%rsp)
  code.push(0xc7, 0x00, 0, 0, 0, 0); //                      movl $0, (%rax)
  if (parameters > REGISTERS) {
    code.push(0x48, 0x8b, 0x44, 0x24, INCOMING); //          mov INCOMING(%rsp), %rax
    code.push(0x48, 0x89, 0x44, 0x24, OUTGOING); //          mov %rax, OUTGOING(%rsp)
  }
  for (let i = 0; i < inRegisters; i++) {
    code.push(...LOAD_ARGUMENT[i]!, ARGUMENTS + 8 * i);
  }
  code.push(...loadTarget(thunk));
  code.push(0x31, 0xc0); //                                  xor %eax, %eax   (variadic: no vector arguments)
  code.push(0x41, 0xff, 0xd3); //                            call *%r11
  code.push(0x48, 0x8b, 0x4c, 0x24, ERRNO); //               mov ERRNO(%rsp), %rcx
  code.push(0x8b, 0x09); //                                  mov (%rcx), %ecx
  code.push(0x48, 0x8b, 0x54, 0x24, cellSlot(parameters)); // mov CELL(%rsp), %rdx
  code.push(0x89, 0x0a); //                                  mov %ecx, (%rdx)
  code.push(0x48, 0x83, 0xc4, FRAME); //                     add $FRAME, %rsp
  code.push(0xc3); //                                        ret
  return code;
}

/** Where the errno cell, the argument after the C parameters, stands in the frame. */
function cellSlot(parameters: number): number {
  return parameters < REGISTERS
    ? ARGUMENTS + 8 * parameters
    : INCOMING + 8 * (parameters - REGISTERS);
}

/** Puts the address of the C function into %r11, which no argument uses. */
function loadTarget({ target }: Thunk): number[] {
  if ("address" in target) return [0x49, 0xbb, ...littleEndian(target.address)]; // movabs $address, %r11
  return target.path.flatMap((offset, i) =>
    i === 0
      ? [0x4c, 0x8b, 0x9f, ...displacement(offset)] // mov offset(%rdi), %r11
      : [0x4d, 0x8b, 0x9b, ...displacement(offset)] // mov offset(%r11), %r11
  );
}

function displacement(offset: number): number[] {
  return [0, 8, 16, 24].map((shift) => (offset >> shift) & 0xff);
}

function littleEndian(value: bigint): Uint8Array {
  return new Uint8Array(BigUint64Array.of(value).buffer);
}
