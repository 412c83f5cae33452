/** Lets programs that device tests start import the package as it is published. */

import denoJson from "../../deno.json" with { type: "json" };
import { stdArguments } from "../host/jsr.ts";
import { inProject, out } from "../host/paths.ts";
import { buildPackage } from "../package/build.ts";

const FOLDER = `${out}/package-of-tests`;

const urlOf = (path: string): string => new URL(path, "file:///").href;

/**
 * Writes an import map that leads from each exported module to its bundle; returns its path. An emulated processor loads
 * the modules of mod.ts in 2.3 s, and their bundle in 0.8 s.
 */
export async function mapToBundles(): Promise<string> {
  await buildPackage(FOLDER);
  const { exports } = JSON.parse(await Deno.readTextFile(`${FOLDER}/deno.json`));
  const imports: Record<string, string> = await stdImports();
  for (const [name, source] of Object.entries(denoJson.exports)) {
    imports[urlOf(inProject(source))] = new URL(exports[name], urlOf(`${FOLDER}/`)).href;
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
  return Object.fromEntries(
    Object.entries<string>(imports).map(([name, path]) => [name, new URL(path, base).href]),
  );
}
