/**
 * One call that calls several native functions in turn, in machine code: after a sleep the program is no longer in the
 * processor's caches, and each call that Deno makes takes microseconds.
 */

import { openSymbol } from "./discovery.ts";
import { bufferPointer } from "../pointers.ts";
import { bytesOf } from "../thunks/aarch64.ts";
import { type SharedObject, writeSharedObject } from "../thunks/elf.ts";
import { MACHINES } from "../thunks/image.ts";
import { loadImage } from "../thunks/memfd.ts";
import type { Arch } from "../thunks/thunk.ts";

/** A call of `NativeSteps`: of a function that takes up to three integers or pointers, and returns an `int`. */
export interface Step {
  readonly address: bigint;
  readonly args: readonly bigint[];
  /** What it must return for the next step to be called. */
  readonly wanted: number;
}

// struct step { int (*function)(uint64_t, uint64_t, uint64_t); uint64_t arguments[3]; int wanted, result; };
const SIZE = 40;
const ARGUMENTS = 8;
const WANTED = 32;
const RESULT = 36;

// `int native_steps(struct step *steps)` ends where a function is NULL, and returns how many returned what was wanted.
// deno-fmt-ignore
const X86_64 = Uint8Array.of(
  0xf3, 0x0f, 0x1e, 0xfa, //       endbr64
  0x53, //                         push %rbx
  0x55, //                         push %rbp
  0x48, 0x83, 0xec, 0x08, //       sub $8, %rsp
  0x48, 0x89, 0xfb, //             mov %rdi, %rbx
  0x31, 0xed, //                   xor %ebp, %ebp
  0x4c, 0x8b, 0x1b, //             next: mov (%rbx), %r11
  0x4d, 0x85, 0xdb, //             test %r11, %r11
  0x74, 0x21, //                   je end
  0x48, 0x8b, 0x7b, ARGUMENTS, //  mov ARGUMENTS(%rbx), %rdi
  0x48, 0x8b, 0x73, 16, //         mov 16(%rbx), %rsi
  0x48, 0x8b, 0x53, 24, //         mov 24(%rbx), %rdx
  0x31, 0xc0, //                   xor %eax, %eax
  0x41, 0xff, 0xd3, //             call *%r11
  0x89, 0x43, RESULT, //           mov %eax, RESULT(%rbx)
  0x3b, 0x43, WANTED, //           cmp WANTED(%rbx), %eax
  0x75, 0x08, //                   jne end
  0x48, 0x83, 0xc3, SIZE, //       add $SIZE, %rbx
  0xff, 0xc5, //                   inc %ebp
  0xeb, 0xd7, //                   jmp next
  0x89, 0xe8, //                   end: mov %ebp, %eax
  0x48, 0x83, 0xc4, 0x08, //       add $8, %rsp
  0x5d, //                         pop %rbp
  0x5b, //                         pop %rbx
  0xc3, //                         ret
);

const AARCH64 = bytesOf([
  0xd503245f, // bti c
  0xa9be7bfd, // stp x29, x30, [sp, #-32]!
  0x910003fd, // mov x29, sp
  0xa90153f3, // stp x19, x20, [sp, #16]
  0xaa0003f3, // mov x19, x0
  0x52800014, // mov w20, #0
  0xf9400270, // next: ldr x16, [x19]
  0xb4000170, // cbz x16, end
  0xa9408660, // ldp x0, x1, [x19, #ARGUMENTS]
  0xf9400e62, // ldr x2, [x19, #24]
  0xd63f0200, // blr x16
  0xb9002660, // str w0, [x19, #RESULT]
  0xb9402261, // ldr w1, [x19, #WANTED]
  0x6b01001f, // cmp w0, w1
  0x54000081, // b.ne end
  0x9100a273, // add x19, x19, #SIZE
  0x11000694, // add w20, w20, #1
  0x17fffff5, // b next
  0x2a1403e0, // end: mov w0, w20
  0xa94153f3, // ldp x19, x20, [sp, #16]
  0xa8c27bfd, // ldp x29, x30, [sp], #32
  0xd65f03c0, // ret
]);

const NAME = "native_steps";

/** A shared object with the function `native_steps`. */
export function stepsImage(arch: Arch): SharedObject {
  const code = { x86_64: X86_64, aarch64: AARCH64 }[arch];
  return writeSharedObject("ibverbs-steps", [{ name: NAME, code: [code] }], MACHINES[arch]);
}

type Run = (steps: Deno.PointerObject) => number;

let run: Run | undefined;

/** The function, opened on first use. The system must let thunks run. */
export function openSteps(): Run {
  return run ??= open();
}

function open(): Run {
  const path = loadImage(stepsImage(Deno.build.arch as Arch));
  return openSymbol(path, NAME, { parameters: ["pointer"], result: "i32" }) as Run;
}

/** Calls that are made one after the other as long as each returns what is wanted. */
export class NativeSteps {
  readonly #run: Run;
  readonly #view: DataView<ArrayBuffer>;
  readonly #pointer: Deno.PointerObject;

  constructor(run: Run, steps: readonly Step[]) {
    this.#run = run;
    this.#view = new DataView(new ArrayBuffer(SIZE * (steps.length + 1)));
    this.#pointer = bufferPointer(this.#view);
    steps.forEach(({ address, args, wanted }, i) => {
      this.#view.setBigUint64(i * SIZE, address, true);
      args.forEach((value, argument) => this.set(i, argument, value));
      this.#view.setInt32(i * SIZE + WANTED, wanted, true);
    });
  }

  /** Changes an argument of a step. */
  set(step: number, argument: number, value: bigint): void {
    this.#view.setBigUint64(step * SIZE + ARGUMENTS + 8 * argument, value, true);
  }

  /** Calls them. Returns how many returned what was wanted. */
  run(): number {
    return this.#run(this.#pointer);
  }

  /** What a step returned. */
  result(step: number): number {
    return this.#view.getInt32(step * SIZE + RESULT, true);
  }
}
