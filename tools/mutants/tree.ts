/** A copy of the project, whose source has mutants. */

import { project } from "../host/paths.ts";
import { cacheFolder } from "../host/setup.ts";

/** What tests do not need of the project, apart from names that start with a dot. */
const LEFT_OUT: readonly string[] = ["out"];

export interface File {
  readonly name: string;
  readonly content: string;
}

/** A copy of the project in a temporary folder. Disposing it removes the folder. */
export class Tree implements Disposable {
  readonly path: string;
  /** Links to what the cache has: a mutant may remove the folder that its tests know as the cache. */
  readonly cache: string;

  /** Copies a project, this one by default, with other files in place of its own. */
  constructor(changed: readonly File[], from: string = project) {
    this.path = Deno.makeTempDirSync({ prefix: "ibverbs-mutant-" });
    for (const { name } of Deno.readDirSync(from)) {
      if (name.startsWith(".") || LEFT_OUT.includes(name)) continue;
      copy(`${from}/${name}`, `${this.path}/${name}`);
    }
    for (const { name, content } of changed) {
      Deno.writeTextFileSync(`${this.path}/${name}`, content);
    }
    const links = `${this.path}/.cache`;
    const { success } = new Deno.Command("cp", { args: ["-al", cacheFolder(), links] })
      .outputSync();
    this.cache = success ? links : cacheFolder();
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
