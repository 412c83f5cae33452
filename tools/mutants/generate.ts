/**
 * Makes all mutants of source files with the generator of StrykerJS, so that nobody of this project
 * chooses them.
 *
 * StrykerJS itself would run the whole test command for each mutant: its command runner knows
 * neither files nor coverage, and there is no runner for `deno test`.
 */

import { inProject, sourcesIn } from "../host/paths.ts";

// A variable, so that a type check does not download the package.
const GENERATOR = "npm:@stryker-mutator/instrumenter@10.1.1";

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

/** What the generator reports for one change. */
interface Generated {
  readonly id: string;
  readonly fileName: string;
  readonly location: Range;
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
    files: readonly { name: string; mutate: true | readonly Range[]; content: string }[],
    options: { ignorers: readonly unknown[]; excludedMutations: string[]; noHeader: boolean },
  ): Promise<{
    files: readonly { name: string; content: string }[];
    mutants: readonly Generated[];
  }>;
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

export function sourceFiles(): string[] {
  const files = FOLDERS.flatMap((folder) => sourcesIn(folder));
  return files.filter((file) => !LEFT_OUT.includes(file)).sort();
}

const OPTIONS = { ignorers: [ERROR_TEXTS], excludedMutations: [], noHeader: true };

async function generator(): Promise<Generator> {
  const { createInstrumenter } = await import(GENERATOR);
  const silent = new Proxy({}, { get: () => () => false });
  const injector = {
    injectClass: (Class: new (logger: unknown) => Generator) => new Class(silent),
    provideValue: () => injector,
  };
  return createInstrumenter(injector);
}

export async function generate(files: readonly string[]): Promise<Mutant[]> {
  const made = await generator();
  const mutants: Mutant[] = [];
  for (const name of files) {
    const content = Deno.readTextFileSync(inProject(name));
    const { mutants: all } = await made.instrument([{ name, mutate: true, content }], OPTIONS);
    const offset = offsets(content);
    for (const { location, mutatorName, replacement, status } of all) {
      if (status === "Ignored") continue;
      const original = content.slice(offset(location.start), offset(location.end));
      mutants.push({ file: name, place: location, mutator: mutatorName, original, replacement });
    }
  }
  return mutants;
}

/** Source files that have several mutants, each of which can be made active. */
export interface Switched {
  readonly files: readonly { readonly name: string; readonly content: string }[];
  /** The mutants by the text that makes each active. */
  readonly mutants: ReadonlyMap<string, Mutant>;
}

/** Puts mutants into the source files that they change. */
export async function withSwitches(mutants: readonly Mutant[]): Promise<Switched> {
  const sources = Map.groupBy(mutants, ({ file }) => file).entries().map(([name, of]) => ({
    name,
    mutate: of.map(({ place }) => place),
    content: Deno.readTextFileSync(inProject(name)),
  }));
  const made = await (await generator()).instrument([...sources], OPTIONS);
  const key = (file: string, { start, end }: Range, ...texts: string[]): string =>
    JSON.stringify([file, start.line, start.column, end.line, end.column, ...texts]);
  const ids = new Map(
    made.mutants.map((
      { id, fileName, location, mutatorName, replacement },
    ) => [key(fileName, location, mutatorName, replacement), id]),
  );
  const found = mutants.map((mutant) =>
    [
      ids.get(key(mutant.file, mutant.place, mutant.mutator, mutant.replacement))!,
      mutant,
    ] as const
  );
  const files = made.files.map(({ name, content }) => ({
    name,
    content: `import { stryCov_9fa48, stryMutAct_9fa48 } from "${
      "../".repeat(name.split("/").length - 1)
    }tools/mutants/switch.ts";\n${content}`,
  }));
  return { files, mutants: new Map(found) };
}

/** Turns places in a text into numbers of characters. */
function offsets(content: string): (place: Place) => number {
  const starts = [0];
  for (const { index } of content.matchAll(/\n/g)) starts.push(index + 1);
  return ({ line, column }) => starts[line]! + column;
}
