/**
 * Makes all mutants of source files with the generator of StrykerJS, so that nobody of this project
 * chooses them.
 *
 * StrykerJS itself would run the whole test command for each mutant: its command runner knows
 * neither files nor coverage, and there is no runner for `deno test`.
 */

import { createInstrumenter, type Instrumenter } from "npm:@stryker-mutator/instrumenter@10.1.1";
import { codeIn, inProject } from "../host/paths.ts";

/** The folders with code of the package. */
export const FOLDERS = ["types", "ffi", "internal", "net", "cli", "rxe"] as const;

/** Files without mutants: this one is generated, and a test compares all of it with the header. */
const LEFT_OUT: readonly string[] = ["ffi/layout.ts"];

export interface Mutant {
  /** The file, from the project's folder. */
  readonly file: string;
  readonly place: Range;
  /** What the generator calls this kind of change. */
  readonly mutator: string;
  readonly original: string;
  readonly replacement: string;
}

/** A part of a file. Lines and columns count from 0. */
export interface Range {
  readonly start: Place;
  readonly end: Place;
}

interface Place {
  readonly line: number;
  readonly column: number;
}

/**
 * Leaves out the texts of errors. Their words are no behaviour; that the right error is thrown is
 * tested, because the mutants that leave the throw out stay.
 */
const ERROR_TEXTS = {
  shouldIgnore: ({ node, parent }: { node: Node; parent: Node | null }): string | undefined =>
    /^(String|Template)Literal$/.test(node.type) && parent?.type === "NewExpression" &&
      /Error$/.test(parent.callee?.name ?? "")
      ? "the text of an error"
      : undefined,
};

/** A part of the syntax tree. */
type Node = { readonly type: string; readonly callee?: { readonly name?: string } };

export function sourceFiles(): string[] {
  const files = FOLDERS.flatMap((folder) => codeIn(folder));
  return files.filter((file) => !LEFT_OUT.includes(file)).sort();
}

const OPTIONS = {
  ignorers: [ERROR_TEXTS],
  excludedMutations: [],
  noHeader: true,
  plugins: null,
};

function generator(): Instrumenter {
  const silent = new Proxy({}, { get: () => () => false });
  const injector = {
    injectClass: (Class: new (logger: unknown) => Instrumenter) => new Class(silent),
    provideValue: () => injector,
  };
  return createInstrumenter(injector as never);
}

/** Source files that have several mutants, each of which can be made active. */
export interface Switched {
  readonly files: readonly { readonly name: string; readonly content: string }[];
  /** The mutants by the text that makes each active. */
  readonly mutants: ReadonlyMap<string, Mutant>;
}

async function instrument(
  files: readonly { name: string; mutate: true | Range[] }[],
): Promise<Switched> {
  const contents = new Map(
    files.map(({ name }) => [name, Deno.readTextFileSync(inProject(name))]),
  );
  const sources = files.map((file) => ({ ...file, content: contents.get(file.name)! }));
  const made = await generator().instrument(sources, OPTIONS);
  const mutants = made.mutants.filter(({ status }) => status !== "Ignored").map((
    { id, fileName: file, location: place, mutatorName: mutator, replacement },
  ) => {
    const original = textAt(contents.get(file)!, place);
    return [id, { file, place, mutator, original, replacement }] as const;
  });
  return { files: made.files, mutants: new Map(mutants) };
}

export async function generate(files: readonly string[]): Promise<Mutant[]> {
  const { mutants } = await instrument(files.map((name) => ({ name, mutate: true })));
  return [...mutants.values()];
}

/** Puts mutants into the source files that they change. */
export async function withSwitches(mutants: readonly Mutant[]): Promise<Switched> {
  const sources = Array.from(
    Map.groupBy(mutants, ({ file }) => file),
    ([name, of]) => ({ name, mutate: of.map(({ place }) => place) }),
  );
  const made = await instrument(sources);
  const wanted = new Set(mutants.map((mutant) => JSON.stringify(mutant)));
  const files = made.files.map(({ name, content }) => {
    const up = "../".repeat(name.split("/").length - 1);
    const names = "stryCov_9fa48, stryMutAct_9fa48";
    const line = `import { ${names} } from "${up}tools/mutants/switch.ts";`;
    return { name, content: `${line}\n${content}` };
  });
  const drawn = [...made.mutants].filter(([, mutant]) => wanted.has(JSON.stringify(mutant)));
  return { files, mutants: new Map(drawn) };
}

function textAt(content: string, { start, end }: Range): string {
  const lines = content.split("\n").slice(start.line, end.line + 1);
  lines.push(lines.pop()!.slice(0, end.column));
  return lines.join("\n").slice(start.column);
}

/** Where a mutant is and what it changes, on one line. */
export function nameOf({ file, place, original, replacement }: Mutant): string {
  return `${file}:${place.start.line + 1}: ${brief(original)} => ${brief(replacement)}`;
}

function brief(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > 70 ? `${line.slice(0, 50)} ... ${line.slice(-15)}` : line;
}
