/** A function that a header declares. */
export interface Prototype {
  readonly name: string;
  /** Type of the result, without its name. */
  readonly result: string;
  /** Types of the parameters, with their names. */
  readonly parameters: readonly string[];
  /** Whether it has a body in the header, and so no symbol. */
  readonly isInline: boolean;
}

/** The functions that an installed header declares or defines itself. */
export async function prototypes(header = "infiniband/verbs.h"): Promise<Prototype[]> {
  const text = await preprocessed(header);
  const found: Prototype[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (depth === 0 && (character === ";" || character === "{")) {
      const prototype = parse(text.slice(start, at), character === "{");
      if (prototype !== undefined) found.push(prototype);
    }
    if (character === "{") depth++;
    if (character === "}") depth--;
    if (depth === 0 && (character === ";" || character === "}")) start = at + 1;
  }
  return found;
}

/** What a header itself holds, without what it includes. */
async function preprocessed(header: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("gcc", {
    args: ["-E", "-x", "c", `/usr/include/${header}`],
  }).output();
  if (!success) throw new Error(`Cannot read ${header}: ${new TextDecoder().decode(stderr)}`);
  let isInside = false;
  return new TextDecoder().decode(stdout).split("\n").filter((line) => {
    const marker = /^# \d+ "(.*)"/.exec(line);
    if (marker !== null) isInside = marker[1]!.endsWith(`/${header}`);
    return isInside && marker === null;
  }).join("\n");
}

export function parse(text: string, isInline: boolean): Prototype | undefined {
  const plain = text.replaceAll(/__attribute__\s*\(\(.*?\)\)/gs, "").replaceAll(/\s+/g, " ")
    .replaceAll(/\[ (\w+) \]/g, "[$1]").trim();
  const match = /^(?:(?:static|inline|__inline__|extern) )*(.*?)(\w+) ?\(([^()]*)\)$/.exec(plain);
  if (match === null || plain.startsWith("typedef")) return undefined;
  const [, result, name, list] = match;
  const parameters = list!.trim() === "void" ? [] : list!.split(",").map((one) => one.trim());
  return { name: name!, result: result!.trim(), parameters, isInline };
}

/** The types of FFI that may stand for a C type. */
export function ffiTypes(type: string): unknown[] {
  if (/[*[]/.test(type)) return ["pointer", "buffer", "u64"];
  const words = type.replace(/\bconst\b/, "").trim();
  const known: [RegExp, unknown[]][] = [
    [/^(uint8_t|_?[Bb]ool)\b/, ["u8"]],
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
  if (found === undefined) throw new Error(`No FFI type is known for "${type}"`);
  return found[1];
}
