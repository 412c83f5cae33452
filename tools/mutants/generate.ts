/**
 * Makes all mutants of source files with the generator of StrykerJS, so that nobody of this project
 * chooses them.
 *
 * StrykerJS itself would run the whole test command for each mutant: its command runner knows
 * neither files nor coverage, and there is no runner for `deno test`.
 */

import { inProject } from "../host/paths.ts";

// A variable, so that a type check does not download the package.
const GENERATOR = "npm:@stryker-mutator/instrumenter@10.1.1";

/** The folders with code of the package. */
export const FOLDERS = ["types", "ffi", "net", "cli", "rxe"] as const;

/** Files without mutants: this one is generated, and a test compares all of it with the header. */
const LEFT_OUT: readonly string[] = ["ffi/layout.ts"];

/** One small change of a source file. */
export interface Mutant {
  /** The file, from the project's folder. */
  readonly file: string;
  /** Where the change starts, as characters from the start of the file. */
  readonly start: number;
  /** The lines that it changes, from 1. */
  readonly lines: readonly [first: number, last: number];
  /** What the generator calls this kind of change. */
  readonly mutator: string;
  /** What the source has. */
  readonly original: string;
  /** What takes its place. */
  readonly replacement: string;
}

/** What the generator reports for one change. Lines and columns count from 0. */
interface Generated {
  readonly location: { readonly start: Place; readonly end: Place };
  readonly mutatorName: string;
  readonly replacement: string;
  readonly status?: string;
}

interface Place {
  readonly line: number;
  readonly column: number;
}

interface Generator {
  instrument(
    files: readonly { name: string; mutate: true; content: string }[],
    options: { ignorers: readonly unknown[]; excludedMutations: string[]; noHeader: boolean },
  ): Promise<{ mutants: readonly Generated[] }>;
}

/** A part of the syntax tree. */
interface Node {
  readonly type: string;
  readonly callee?: { readonly name?: string };
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

/** The files that have mutants, in order. */
export function sourceFiles(): string[] {
  return FOLDERS.flatMap(filesIn).filter((file) => !LEFT_OUT.includes(file)).sort();
}

function filesIn(folder: string): string[] {
  return [...Deno.readDirSync(inProject(folder))].flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    if (isDirectory) return filesIn(path);
    return name.endsWith(".ts") ? [path] : [];
  });
}

/** All mutants of some files. */
export async function generate(files: readonly string[]): Promise<Mutant[]> {
  const { createInstrumenter } = await import(GENERATOR);
  const silent = new Proxy({}, { get: () => () => false });
  const injector = {
    injectClass: (Class: new (logger: unknown) => Generator) => new Class(silent),
    provideValue: () => injector,
  };
  const generator: Generator = createInstrumenter(injector);
  const options = { ignorers: [ERROR_TEXTS], excludedMutations: [], noHeader: true };
  const mutants: Mutant[] = [];
  for (const file of files) {
    const content = Deno.readTextFileSync(inProject(file));
    const made = await generator.instrument([{ name: file, mutate: true, content }], options);
    const offset = offsets(content);
    mutants.push(
      ...made.mutants.filter(({ status }) => status !== "Ignored").map((mutant) =>
        mutantOf(file, content, offset, mutant)
      ),
    );
  }
  return mutants;
}

/** Turns places in a text into numbers of characters. */
function offsets(content: string): (place: Place) => number {
  const starts = [0];
  for (const { index } of content.matchAll(/\n/g)) starts.push(index + 1);
  return ({ line, column }) => starts[line]! + column;
}

function mutantOf(
  file: string,
  content: string,
  offset: (place: Place) => number,
  { location: { start, end }, mutatorName, replacement }: Generated,
): Mutant {
  const original = content.slice(offset(start), offset(end));
  return {
    file,
    start: offset(start),
    lines: [start.line + 1, end.line + 1],
    mutator: mutatorName,
    original,
    // The generator changes the syntax tree, where `a && b && c` to `(a || b) && c` needs no brackets.
    replacement: mutatorName === "LogicalOperator" ? `(${replacement})` : replacement,
  };
}
