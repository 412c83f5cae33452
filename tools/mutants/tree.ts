/** A copy of the project, in which one mutant at a time is applied. */

import { project } from "../host/paths.ts";
import { cacheFolder } from "../../rxe/host/paths.ts";
import type { Mutant } from "./generate.ts";

/** What tests do not need of the project, apart from names that start with a dot. */
const LEFT_OUT: readonly string[] = ["out"];

/** A copy of the project in a temporary folder. Disposing it removes the folder. */
export class Tree implements Disposable {
  /** The folder. */
  readonly path: string;
  /** Links to what the cache has: a mutant may remove the folder that its tests know as the cache. */
  readonly cache: string;

  /** Copies a project, this one by default. */
  constructor(from: string = project) {
    this.path = Deno.makeTempDirSync({ prefix: "ibverbs-mutant-" });
    for (const { name } of Deno.readDirSync(from)) {
      if (name.startsWith(".") || LEFT_OUT.includes(name)) continue;
      copy(`${from}/${name}`, `${this.path}/${name}`);
    }
    const links = `${this.path}/.cache`;
    const { success } = new Deno.Command("cp", { args: ["-al", cacheFolder(), links] })
      .outputSync();
    this.cache = success ? links : cacheFolder();
  }

  /** Applies a mutant until the result is disposed. */
  apply({ file, start, original, replacement }: Mutant): Disposable {
    const path = `${this.path}/${file}`;
    const source = Deno.readTextFileSync(path);
    const end = start + original.length;
    if (source.slice(start, end) !== original) throw new Error(`${file} is not the one drawn from`);
    Deno.writeTextFileSync(path, source.slice(0, start) + replacement + source.slice(end));
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
