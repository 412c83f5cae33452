/** A copy of the project, in which one mutant at a time is applied. */

import { project } from "../host/paths.ts";
import type { Mutant } from "./mutant.ts";

/** What tests do not need of the project, apart from names that start with a dot. */
const LEFT_OUT: readonly string[] = ["out"];

/** A copy of the project in a temporary folder. Disposing it removes the folder. */
export class Tree implements Disposable {
  /** The folder. */
  readonly path: string;

  /** Copies the project. */
  constructor() {
    this.path = Deno.makeTempDirSync({ prefix: "ibverbs-mutant-" });
    for (const { name } of Deno.readDirSync(project)) {
      if (name.startsWith(".") || LEFT_OUT.includes(name)) continue;
      copy(`${project}/${name}`, `${this.path}/${name}`);
    }
  }

  /** Applies a mutant until the result is disposed. Its text must be there once. */
  apply({ id, file, replace, by }: Mutant): Disposable {
    const path = `${this.path}/${file}`;
    const source = Deno.readTextFileSync(path);
    const [before, after, ...more] = source.split(replace);
    if (after === undefined || more.length > 0) {
      throw new Error(`Cannot apply ${id}: ${file} does not have its text exactly once`);
    }
    Deno.writeTextFileSync(path, before + by + after);
    return { [Symbol.dispose]: () => Deno.writeTextFileSync(path, source) };
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}

function copy(from: string, to: string): void {
  if (!Deno.statSync(from).isDirectory) return Deno.copyFileSync(from, to);
  Deno.mkdirSync(to);
  for (const { name } of Deno.readDirSync(from)) copy(`${from}/${name}`, `${to}/${name}`);
}

/** Reads a file of the project; undefined if there is none. */
export function readInProject(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(`${project}/${path}`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
