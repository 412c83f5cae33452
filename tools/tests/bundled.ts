/** Lets programs that device tests start import the packages as they are published. */

import denoJson from "../../deno.json" with { type: "json" };
import { stdArguments } from "../host/jsr.ts";
import { inProject, out } from "../host/paths.ts";
import { buildPackages } from "../package/build.ts";
import { PACKAGES, specifiers } from "../package/packages.ts";

const FOLDER = `${out}/package-of-tests`;

const urlOf = (path: string): string => new URL(path, "file:///").href;

/**
 * Writes an import map that leads from each exported module to its bundle; returns its path. An emulated processor loads
 * the modules of mod.ts in 2.3 s, and their bundle in 0.8 s.
 */
export async function mapToBundles(): Promise<string> {
  await buildPackages(FOLDER);
  const imports: Record<string, string> = await stdImports();
  const at = specifiers();
  for (const { folder, name, exports: sources } of PACKAGES) {
    const { exports } = JSON.parse(await Deno.readTextFile(`${FOLDER}/${folder}deno.json`));
    for (const [path, source] of Object.entries(sources)) {
      const bundle = new URL(exports[path], urlOf(`${FOLDER}/${folder}`)).href;
      // By its place, by its name, and by what a bundle of another package calls it.
      const names = [name, at[name]].map((name) => name + path.slice(1));
      for (const key of [urlOf(inProject(folder + source)), ...names]) imports[key] = bundle;
    }
  }
  const path = `${FOLDER}/import_map.json`;
  await Deno.writeTextFile(path, JSON.stringify({ imports }));
  return path;
}

async function stdImports(): Promise<Record<string, string>> {
  const [option] = await stdArguments();
  if (option === undefined) return { ...denoJson.imports };
  const base = urlOf(option.replace("--import-map=", ""));
  const { imports } = JSON.parse(await Deno.readTextFile(new URL(base)));
  const at = specifiers();
  return Object.fromEntries(
    Object.entries<string>(imports).flatMap(([name, path]) => {
      const url = new URL(path, base).href;
      const [, own = "", rest = ""] = /^(@std\/\w+)(.*)$/.exec(name)!;
      return [[name, url], [at[own] + rest, url]];
    }),
  );
}
