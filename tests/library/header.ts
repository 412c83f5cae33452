/** A function that `verbs.h` declares. */
export interface Prototype {
  readonly name: string;
  /** Type of the result, without its name. */
  readonly result: string;
  /** Types of the parameters, with their names. */
  readonly parameters: readonly string[];
  /** Whether it has a body in the header, and so no symbol. */
  readonly isInline: boolean;
}

/** The functions that the installed `verbs.h` declares or defines itself. */
export async function prototypes(): Promise<Prototype[]> {
  const text = await preprocessed();
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

/** What verbs.h itself holds, without what it includes. */
async function preprocessed(): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("gcc", {
    args: ["-E", "-x", "c", "/usr/include/infiniband/verbs.h"],
  }).output();
  if (!success) throw new Error(`Cannot read verbs.h: ${new TextDecoder().decode(stderr)}`);
  let inVerbs = false;
  return new TextDecoder().decode(stdout).split("\n").filter((line) => {
    const marker = /^# \d+ "(.*)"/.exec(line);
    if (marker !== null) inVerbs = marker[1]!.endsWith("/infiniband/verbs.h");
    return inVerbs && marker === null;
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
