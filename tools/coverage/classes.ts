/** Which class offers a verb: found in the text of `types/`, where the verb is called. */

import { project, sourcesIn } from "../host/paths.ts";

/** A part of a file that has a name: a class, a function or a constant. */
interface Part {
  readonly name: string;
  readonly file: string;
  readonly imports: ReadonlySet<string>;
  readonly isExported: boolean;
  readonly isClass: boolean;
  readonly isPublic: boolean;
  readonly text: string;
}

const START = /^(?:export )?(?:abstract |async )?(class|function\*?|const|let|interface) (\w+)/;

const IMPORT = /^import [^;]*;/gm;

/** How far a verb may be from the class that offers it: functions that call functions. */
const STEPS = 4;

/** The classes of `types/`, and what else has a name there. */
export async function readParts(): Promise<Part[]> {
  const exported = new Set((await read("mod.ts")).match(/\w+/g));
  return (await Promise.all(sourcesIn("types").map((file) => partsOf(file, exported)))).flat();
}

async function read(file: string): Promise<string> {
  return withoutComments(await Deno.readTextFile(`${project}/${file}`));
}

async function partsOf(file: string, exported: ReadonlySet<string>): Promise<Part[]> {
  const whole = await read(file);
  const imports = new Set([...whole.matchAll(IMPORT)].flatMap(([found]) => found.match(/\w+/g)!));
  const lines = whole.split("\n");
  const starts = lines.flatMap((line, at) => START.test(line) ? [at] : []);
  return starts.map((start, i) => {
    const [, kind, name] = START.exec(lines[start]!)!;
    const text = lines.slice(start, starts[i + 1] ?? lines.length).join("\n");
    const isExported = lines[start]!.startsWith("export ");
    const isPublic = isExported && kind !== "interface" && exported.has(name!);
    return { name: name!, file, imports, isClass: kind === "class", isExported, isPublic, text };
  });
}

/** Strings stay: some verbs are called by a name that is kept in one. */
function withoutComments(text: string): string {
  return text.replaceAll(
    /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\*[\s\S]*?\*\/|\/\/.*/g,
    (_, string: string | undefined) => string ?? "",
  );
}

/** The public classes and functions that offer a verb: those next to its call, in the same folder if there are any. */
export function offeredBy(verb: string, parts: readonly Part[]): string[] {
  const calls = new RegExp(`(?:[."]|[{,] )${verb}\\b`);
  let found = parts.filter(({ text }) => calls.test(text));
  const folders = found.map(folderOf);
  const offered: Part[] = [];
  for (let step = 0; step < STEPS; step++) {
    offered.push(...found.filter(({ isPublic }) => isPublic));
    found = usersOf(found.filter(({ isPublic }) => !isPublic), parts);
  }
  const near = offered.filter((part) => folders.includes(folderOf(part)));
  const titles = (near.length > 0 ? near : offered)
    .map(({ name, isClass }) => isClass ? name : `${name}()`);
  return [...new Set(titles)].sort();
}

function folderOf({ file }: Part): string {
  return file.slice(0, file.lastIndexOf("/"));
}

function usersOf(used: readonly Part[], parts: readonly Part[]): Part[] {
  return parts.filter((part) => !used.includes(part) && used.some((one) => uses(part, one)));
}

/** Whether a part names another one. Names mean the same only within a file and where they are imported. */
function uses(part: Part, { name, file, isExported }: Part): boolean {
  const isVisible = part.file === file || isExported && part.imports.has(name);
  return isVisible && new RegExp(`\\b${name}\\b`).test(part.text);
}
