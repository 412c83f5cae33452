// Machine code against what assemblers make of the same source. That the loader finds it, and that it works, is for the
// library tests.
import { assertEquals } from "@std/assert";
import { allocatorImage } from "../../ffi/library/domain_allocators.ts";
import { stepsImage } from "../../ffi/library/native_steps.ts";
import type { SharedObject } from "../../ffi/thunks/elf.ts";
import { buildImage } from "../../ffi/thunks/image.ts";
import type { Arch, Thunk } from "../../ffi/thunks/thunk.ts";

const ERRNO_LOCATION = 0x1122_3344_5566_7788n;

/** Titles of machine code, each with what an assembler makes of the source beside it. */
const LISTINGS = `
a jump follows a path of x86-64 loads
  f30f1efa        endbr64
  4c8b9fc0feffff  mov -320(%rdi), %r11
  4d8b9b60000000  mov 96(%r11), %r11
  41ffe3          jmp *%r11
a jump follows a path from the second x86-64 argument
  f30f1efa        endbr64
  4c8b9e00000000  mov 0(%rsi), %r11
  4d8b9b60000000  mov 96(%r11), %r11
  41ffe3          jmp *%r11
a jump holds all bits of an x86-64 address
  f30f1efa              endbr64
  49bb1032547698badcfe  movabs $0xfedcba9876543210, %r11
  41ffe3                jmp *%r11
an x86-64 thunk keeps errno around a call with its cell on the stack
  f30f1efa              endbr64
  4883ec48              sub $72, %rsp
  48897c2410            mov %rdi, 16(%rsp)
  4889742418            mov %rsi, 24(%rsp)
  4889542420            mov %rdx, 32(%rsp)
  48894c2428            mov %rcx, 40(%rsp)
  4c89442430            mov %r8, 48(%rsp)
  4c894c2438            mov %r9, 56(%rsp)
  48b88877665544332211  movabs $0x1122334455667788, %rax
  ffd0                  call *%rax
  4889442408            mov %rax, 8(%rsp)
  c70000000000          movl $0, (%rax)
  488b442450            mov 80(%rsp), %rax
  4889442400            mov %rax, 0(%rsp)
  488b7c2410            mov 16(%rsp), %rdi
  488b742418            mov 24(%rsp), %rsi
  488b542420            mov 32(%rsp), %rdx
  488b4c2428            mov 40(%rsp), %rcx
  4c8b442430            mov 48(%rsp), %r8
  4c8b4c2438            mov 56(%rsp), %r9
  49bb9900000000000000  movabs $0x99, %r11
  31c0                  xor %eax, %eax
  41ffd3                call *%r11
  488b4c2408            mov 8(%rsp), %rcx
  8b09                  mov (%rcx), %ecx
  488b542458            mov 88(%rsp), %rdx
  890a                  mov %ecx, (%rdx)
  4883c448              add $72, %rsp
  c3                    ret
a jump follows a path of aarch64 loads, down and up
  d503245f  bti c
  d1050010  sub x16, x0, #320
  f9400210  ldr x16, [x16]
  f9400210  ldr x16, [x16]
  f97ffe10  ldr x16, [x16, #32760]
  d61f0200  br x16
a jump follows a path from the second aarch64 argument
  d503245f  bti c
  f9400030  ldr x16, [x1, #0]
  f9403210  ldr x16, [x16, #96]
  d61f0200  br x16
a jump holds all bits of an aarch64 address
  d503245f  bti c
  d29bde10  movz x16, #0xdef0
  f2b35790  movk x16, #0x9abc, lsl #16
  f2cacf10  movk x16, #0x5678, lsl #32
  f2e24690  movk x16, #0x1234, lsl #48
  d61f0200  br x16
an aarch64 thunk keeps errno around a call
  d503245f  bti c
  a9ba7bfd  stp x29, x30, [sp, #-96]!
  910003fd  mov x29, sp
  a90107e0  stp x0, x1, [sp, #16]
  a9020fe2  stp x2, x3, [sp, #32]
  a90317e4  stp x4, x5, [sp, #48]
  a9041fe6  stp x6, x7, [sp, #64]
  d28ef110  movz x16, #0x7788
  f2aaacd0  movk x16, #0x5566, lsl #16
  f2c66890  movk x16, #0x3344, lsl #32
  f2e22450  movk x16, #0x1122, lsl #48
  d63f0200  blr x16
  f9002be0  str x0, [sp, #80]
  b900001f  str wzr, [x0]
  a94107e0  ldp x0, x1, [sp, #16]
  a9420fe2  ldp x2, x3, [sp, #32]
  a94317e4  ldp x4, x5, [sp, #48]
  a9441fe6  ldp x6, x7, [sp, #64]
  f9403010  ldr x16, [x0, #96]
  d63f0200  blr x16
  f9402be9  ldr x9, [sp, #80]
  b9400129  ldr w9, [x9]
  f94013ea  ldr x10, [sp, #32]
  b9000149  str w9, [x10]
  a8c67bfd  ldp x29, x30, [sp], #96
  d65f03c0  ret
domain_alloc of x86_64
  f30f1efa              endbr64
  be00200100            mov $0x12000, %esi
  4839ce                cmp %rcx, %rsi
  480f42f1              cmovb %rcx, %rsi
  4889f7                mov %rsi, %rdi
  4889d6                mov %rdx, %rsi
  49bb8877665544332211  movabs $0x1122334455667788, %r11
  41ffe3                jmp *%r11
domain_free of x86_64
  f30f1efa              endbr64
  4889d7                mov %rdx, %rdi
  49bb8877665544332211  movabs $0x1122334455667788, %r11
  41ffe3                jmp *%r11
domain_alloc of aarch64
  d503245f  bti c
  d2840001  movz x1, #0x2000
  f2a00021  movk x1, #0x1, lsl #16
  eb03003f  cmp x1, x3
  9a838020  csel x0, x1, x3, hi
  aa0203e1  mov x1, x2
  d28ef110  movz x16, #0x7788
  f2aaacd0  movk x16, #0x5566, lsl #16
  f2c66890  movk x16, #0x3344, lsl #32
  f2e22450  movk x16, #0x1122, lsl #48
  d61f0200  br x16
domain_free of aarch64
  d503245f  bti c
  aa0203e0  mov x0, x2
  d28ef110  movz x16, #0x7788
  f2aaacd0  movk x16, #0x5566, lsl #16
  f2c66890  movk x16, #0x3344, lsl #32
  f2e22450  movk x16, #0x1122, lsl #48
  d61f0200  br x16
native_steps of x86_64
  f30f1efa  endbr64
  53        push %rbx
  55        push %rbp
  4883ec08  sub $8, %rsp
  4889fb    mov %rdi, %rbx
  31ed      xor %ebp, %ebp
  4c8b1b    1: mov (%rbx), %r11
  4d85db    test %r11, %r11
  7421      je 2f
  488b7b08  mov 8(%rbx), %rdi
  488b7310  mov 16(%rbx), %rsi
  488b5318  mov 24(%rbx), %rdx
  31c0      xor %eax, %eax
  41ffd3    call *%r11
  894324    mov %eax, 36(%rbx)
  3b4320    cmp 32(%rbx), %eax
  7508      jne 2f
  4883c328  add $40, %rbx
  ffc5      inc %ebp
  ebd7      jmp 1b
  89e8      2: mov %ebp, %eax
  4883c408  add $8, %rsp
  5d        pop %rbp
  5b        pop %rbx
  c3        ret
native_steps of aarch64
  d503245f  bti c
  a9be7bfd  stp x29, x30, [sp, #-32]!
  910003fd  mov x29, sp
  a90153f3  stp x19, x20, [sp, #16]
  aa0003f3  mov x19, x0
  52800014  mov w20, #0
  f9400270  1: ldr x16, [x19]
  b4000170  cbz x16, 2f
  a9408660  ldp x0, x1, [x19, #8]
  f9400e62  ldr x2, [x19, #24]
  d63f0200  blr x16
  b9002660  str w0, [x19, #36]
  b9402261  ldr w1, [x19, #32]
  6b01001f  cmp w0, w1
  54000081  b.ne 2f
  9100a273  add x19, x19, #40
  11000694  add w20, w20, #1
  17fffff5  b 1b
  2a1403e0  2: mov w0, w20
  a94153f3  ldp x19, x20, [sp, #16]
  a8c27bfd  ldp x29, x30, [sp], #32
  d65f03c0  ret
`;

const THUNKS: Readonly<Record<string, readonly [Arch, Omit<Thunk, "name">]>> = {
  "a jump follows a path of x86-64 loads": ["x86_64", { target: { path: [-320, 96] } }],
  "a jump follows a path from the second x86-64 argument": ["x86_64", {
    target: { path: [0, 96], argument: 1 },
  }],
  "a jump holds all bits of an x86-64 address": ["x86_64", {
    target: { address: 0xfedc_ba98_7654_3210n },
  }],
  "an x86-64 thunk keeps errno around a call with its cell on the stack": ["x86_64", {
    target: { address: 0x99n },
    errnoAfter: 7,
  }],
  "a jump follows a path of aarch64 loads, down and up": ["aarch64", {
    target: { path: [-320, 0, 32760] },
  }],
  "a jump follows a path from the second aarch64 argument": ["aarch64", {
    target: { path: [0, 96], argument: 1 },
  }],
  "a jump holds all bits of an aarch64 address": ["aarch64", {
    target: { address: 0x1234_5678_9abc_def0n },
  }],
  "an aarch64 thunk keeps errno around a call": ["aarch64", {
    target: { path: [96] },
    errnoAfter: 2,
  }],
};

for (const [title, [arch, thunk]] of Object.entries(THUNKS)) {
  Deno.test(title, () => {
    assertHolds(buildImage([{ name: "f", ...thunk }], arch, ERRNO_LOCATION), title, arch);
  });
}

for (const arch of ["x86_64", "aarch64"] as const) {
  Deno.test(`allocators of ${arch} call those of the C library with the larger alignment`, () => {
    const image = allocatorImage(0x1_2000, arch, () => ERRNO_LOCATION);
    for (const name of ["domain_alloc", "domain_free"]) {
      assertHolds(image, `${name} of ${arch}`, arch);
    }
  });

  Deno.test(`native_steps() of ${arch} is a loop over calls`, () => {
    assertHolds(stepsImage(arch), `native_steps of ${arch}`, arch);
  });
}

/** An image holds the code of a listing, once. */
function assertHolds({ bytes }: SharedObject, title: string, arch: Arch): void {
  assertEquals(bytes.toHex().split(bytesOf(title, arch)).length, 2, title);
}

/** The bytes of a listing. That of aarch64 has little-endian words. */
function bytesOf(title: string, arch: Arch): string {
  const [, listing] = LISTINGS.split(`\n${title}\n`);
  const [lines] = listing!.split(/\n(?! )/);
  const words = lines!.split("\n").map((line) => line.trim().split(" ")[0]!);
  if (arch === "x86_64") return words.join("");
  return words.map((word) => Uint8Array.fromHex(word).reverse().toHex()).join("");
}
