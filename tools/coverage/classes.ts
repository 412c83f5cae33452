/** Which class offers a verb: found in the text of `types/`, where the verb is called. */

import { project } from "../host/paths.ts";

/** A part of a file that has a name: a class, a function or a constant. */
interface Part {
  readonly name: string;
  readonly isClass: boolean;
  /** Whether `mod.ts` exports it. */
  readonly isPublic: boolean;
  /** Its text without comments. */
  readonly text: string;
}

const START = /^(?:export )?(?:abstract |async )?(class|function\*?|const|let) (\w+)/;

/** How far a verb may be from the class that offers it: functions that call functions. */
const STEPS = 4;

/** The classes of `types/`, and what else has a name there. */
export async function readParts(): Promise<Part[]> {
  const files = await Array.fromAsync(filesBelow("types"));
  const exported = new Set((await read("mod.ts")).match(/\w+/g));
  return (await Promise.all(files.sort().map((file) => partsOf(file, exported)))).flat();
}

/** The text of a file without comments. */
async function read(file: string): Promise<string> {
  return withoutComments(await Deno.readTextFile(`${project}/${file}`));
}

async function* filesBelow(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(`${project}/${folder}`)) {
    const path = `${folder}/${name}`;
    if (isDirectory) yield* filesBelow(path);
    else if (name.endsWith(".ts")) yield path;
  }
}

async function partsOf(file: string, exported: ReadonlySet<string>): Promise<Part[]> {
  const lines = (await read(file)).split("\n");
  const starts = lines.flatMap((line, at) => START.test(line) ? [at] : []);
  return starts.map((start, i) => {
    const [, kind, name] = START.exec(lines[start]!)!;
    const text = lines.slice(start, starts[i + 1] ?? lines.length).join("\n");
    return { name: name!, isClass: kind === "class", isPublic: exported.has(name!), text };
  });
}

/** Strings stay: some verbs are called by a name that is kept in one. */
function withoutComments(text: string): string {
  return text.replaceAll(
    /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\*[\s\S]*?\*\/|\/\/.*/g,
    (_, string: string | undefined) => string ?? "",
  );
}

/** The public classes and functions that offer a verb: those next to its call. */
export function offeredBy(verb: string, parts: readonly Part[]): string[] {
  const calls = new RegExp(`(?:\\.|")${verb}\\b`);
  let found = parts.filter(({ text }) => calls.test(text));
  for (let step = 0; step < STEPS; step++) {
    const offered = found.filter(({ isPublic }) => isPublic);
    if (offered.length > 0) return [...new Set(offered.map(title))].sort();
    found = usersOf(found, parts);
  }
  return [];
}

function title({ name, isClass }: Part): string {
  return isClass ? name : `${name}()`;
}

function usersOf(used: readonly Part[], parts: readonly Part[]): Part[] {
  if (used.length === 0) return [];
  const pattern = new RegExp(`\\b(?:${used.map(({ name }) => name).join("|")})\\b`);
  return parts.filter((part) => !used.includes(part) && pattern.test(part.text));
}
