// The tables of verbs, compared with the installed header and library.
import { assert, assertEquals, assertGreater } from "@std/assert";
import { inlineVerbs } from "../../ffi/inlines.ts";
import { errnoSymbols, plainSymbols } from "../../ffi/symbols.ts";
import { type Prototype, prototypes } from "./header.ts";

const HEADER = await prototypes();
const SYMBOLS: Record<string, Deno.ForeignFunction> = { ...errnoSymbols, ...plainSymbols };
/** The header's own helpers and the verbs of other objects, which nothing here calls. */
const PUBLIC = /^(_?ibv_|mult_to_ibv|mbps_to_ibv)/;

/** The types of FFI that may stand for a C type. */
function ffiTypes(type: string): unknown[] {
  if (/[*[]/.test(type)) return ["pointer", "buffer", "u64"];
  const words = type.replace(/\bconst\b/, "").trim();
  const known: [RegExp, unknown[]][] = [
    [/^(uint8_t)\b/, ["u8"]],
    [/^(uint16_t|__be16)\b/, ["u16"]],
    [/^(uint32_t|__be32|unsigned int)\b/, ["u32"]],
    [/^(uint64_t|__be64)\b/, ["u64"]],
    [/^enum \w+/, ["u32", "i32"]],
    [/^int\b/, ["i32"]],
    [/^size_t\b/, ["usize"]],
    [/^ssize_t\b/, ["isize"]],
    [/^void$/, ["void"]],
  ];
  const found = known.find(([pattern]) => pattern.test(words));
  assert(found !== undefined, `no FFI type is known for "${type}"`);
  return found[1];
}

function assertMatches(
  { name, parameters, result }: Prototype,
  definition: Deno.ForeignFunction,
): void {
  assertEquals(definition.parameters.length, parameters.length, `parameters of ${name}`);
  for (const [i, type] of parameters.entries()) {
    assert(ffiTypes(type).includes(definition.parameters[i]), `${name}: ${type}`);
  }
  assert(ffiTypes(result).includes(definition.result), `${name}: ${result}`);
}

Deno.test("symbols.ts has every verb that verbs.h declares and does not define", () => {
  const declared = HEADER.filter(({ name, isInline }) => !isInline && PUBLIC.test(name));
  assertGreater(declared.length, 50);
  assertEquals(Object.keys(SYMBOLS).sort(), declared.map(({ name }) => name).sort());
});

Deno.test("symbols.ts has the parameters and results of verbs.h", () => {
  const declared = new Map(HEADER.map((prototype) => [prototype.name, prototype]));
  for (const [name, definition] of Object.entries(SYMBOLS)) {
    assertMatches(declared.get(name)!, definition);
  }
});

Deno.test("inlines.ts has the parameters and results of verbs.h, and the sizes that ops take besides", () => {
  const defined = new Map(HEADER.filter(({ isInline }) => isInline).map((one) => [one.name, one]));
  for (const [name, { definition }] of Object.entries(inlineVerbs)) {
    const prototype = defined.get(name);
    assert(prototype !== undefined, `verbs.h defines no ${name}`);
    const parameters: readonly unknown[] = definition.parameters;
    const sized = parameters.length === prototype.parameters.length + 1 &&
      parameters.at(-1) === "usize";
    const taken = sized ? parameters.slice(0, -1) : parameters;
    assertMatches(prototype, { ...definition, parameters: taken as Deno.NativeType[] });
  }
});

Deno.test("The installed library has every verb of symbols.ts", async () => {
  const library = [...Deno.readTextFileSync("/proc/self/maps").matchAll(/\/\S*libibverbs\.so\S*/g)];
  const path = library[0]?.[0] ?? await whereIs("libibverbs.so.1");
  const { stdout } = await new Deno.Command("nm", { args: ["-D", "--defined-only", path] })
    .output();
  const exported = new Set(
    [...new TextDecoder().decode(stdout).matchAll(/ T (\w+)@@/g)].map(([, name]) => name!),
  );
  assertEquals(Object.keys(SYMBOLS).filter((name) => !exported.has(name)), []);
  const verbs = [...exported].filter((name) => PUBLIC.test(name) && !name.startsWith("ibv_cmd_"));
  const declared = new Set(HEADER.map(({ name }) => name));
  const missing = verbs.filter((name) => declared.has(name) && !(name in SYMBOLS));
  assertEquals(missing, []);
});

async function whereIs(soname: string): Promise<string> {
  const { stdout } = await new Deno.Command("/sbin/ldconfig", { args: ["-p"] }).output();
  const found = new RegExp(`${soname} .*=> (\\S+)`).exec(new TextDecoder().decode(stdout));
  return found![1]!;
}
