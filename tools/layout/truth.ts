/**
 * Asks the compiler, and nothing but the compiler, for the numbers behind the names of a table.
 *
 * @module
 */
import type { Claim } from "./claims.ts";
import { type FieldType, fieldTypes, type Integer, toInteger } from "./model.ts";
import { compile, header, preprocess, run, type Toolchain } from "./toolchain.ts";

// Floating-point types tell big-endian fields from other integers of their size, and move nothing.
const prelude = `
#include <linux/types.h>
#define __be16 _Float16
#define __be32 float
#define __be64 double
#include <${header}>
#undef __be16
#undef __be32
#undef __be64
#define FIELD(type, name) (((type *) 0)->name)
#define IS_ARRAY(x) (!__builtin_types_compatible_p(__typeof__(x), __typeof__((0, (x)))))
#define IS_POINTER(x) (__builtin_classify_type(x) == 5)
#define IS_NEGATIVE(x) (__builtin_choose_expr(IS_POINTER(x), 0, (x)) < 0)
`;

const scalarsInC: readonly (readonly [FieldType, string])[] = [
  ["u8", "unsigned char"],
  ["u8", "_Bool"],
  ["u16", "unsigned short"],
  ["u32", "unsigned int"],
  ["u64", "unsigned long"],
  ["u64", "unsigned long long"],
  ["i32", "int"],
  ["i64", "long"],
  ["i64", "long long"],
  ["be16", "_Float16"],
  ["be32", "float"],
  ["be64", "double"],
];

/** The true numbers by the paths of the claims. */
export async function askCompiler(
  toolchain: Toolchain,
  claims: readonly Claim[],
): Promise<Map<string, Integer>> {
  const directory = await Deno.makeTempDir({ prefix: "ibverbs-layout-" });
  try {
    const object = `${directory}/truth.o`;
    const errors = await compile(toolchain, program(claims), [
      "-ftrack-macro-expansion=0",
      "-fmax-errors=10",
      "-c",
      "-o",
      object,
    ]);
    if (errors !== "") {
      throw new Error(`Cannot find in ${header} what the table names:\n${errors}`);
    }
    const section = `${directory}/truth.bin`;
    // Read from the object file, not printed by the program: a foreign architecture's cannot be run.
    await run(`${toolchain.prefix}objcopy`, [
      "--output-target=binary",
      "--only-section=.truth",
      object,
      section,
    ]);
    const numbers = readNumbers(await Deno.readFile(section));
    return new Map(numbers.map((number, index) => [claims[index]?.path ?? "", number]));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** Tags of the unions that the header defines. */
export async function readUnionTags(toolchain: Toolchain): Promise<Set<string>> {
  const text = await preprocess(toolchain, []);
  return new Set([...text.matchAll(/\bunion\s+(\w+)\s*\{/g)].map(([, tag = ""]) => tag));
}

function program(claims: readonly Claim[]): string {
  const number = (type: FieldType): number => fieldTypes.indexOf(type);
  const cases = scalarsInC.map(([type, name]) => `${name}: ${number(type)}, `).join("");
  // The line markers make the compiler name the claim in place of a file when it cannot follow it.
  const rows = claims.map(({ path, expression }) =>
    `#line 1 "${path}"\n{ (unsigned long long) (${expression}), IS_NEGATIVE(${expression}) },\n`
  );
  return `${prelude}
#define NOT_SCALAR(x) (IS_POINTER(x) ? ${number("ptr")} : ${number("bytes")})
#define TYPE(x) (IS_ARRAY(x) ? ${number("bytes")} : _Generic((x), ${cases}default: NOT_SCALAR(x)))
const unsigned long long truth[][2] __attribute__((section(".truth"))) = {
${rows.join("")}};
`;
}

/** Both architectures are little-endian, and so is their object code. */
function readNumbers(bytes: Uint8Array): Integer[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.byteLength / 16 }, (_, index) => {
    const isNegative = view.getBigUint64(index * 16 + 8, true) !== 0n;
    return toInteger(
      isNegative ? view.getBigInt64(index * 16, true) : view.getBigUint64(index * 16, true),
    );
  });
}
