/** The package as it is published: import maps by which the programs of the rows use it in place of the sources. */

import { inProject, out } from "../tools/host/paths.ts";
import { buildPackage } from "../tools/package/build.ts";
import type { Programs } from "./row.ts";

const MAPPED = { ".": "mod.ts", "./net": "net/mod.ts", "./cm": "cm.ts" };

export async function builtPackage(): Promise<Programs> {
  const folder = `${out}/bench-package`;
  await buildPackage(folder);
  const bundles = await bundlesOf(folder);
  return { module: bundles["mod.ts"]!, importMap: await writeImportMap("new", bundles) };
}

/** What rows use of a package that was built before. */
export async function oldPackage(folder: string): Promise<Programs> {
  const { "mod.ts": module } = await bundlesOf(await Deno.realPath(folder));
  return { oldImportMap: await writeImportMap("old", { "mod.ts": await adapted(module!) }) };
}

async function bundlesOf(folder: string): Promise<Record<string, string>> {
  const { exports } = JSON.parse(await Deno.readTextFile(`${folder}/deno.json`));
  return Object.fromEntries(
    Object.entries(MAPPED).map(([name, source]) => [source, `${folder}/${exports[name]}`]),
  );
}

async function writeImportMap(name: string, bundles: Record<string, string>): Promise<string> {
  const path = `${out}/bench-import-map-${name}.json`;
  const imports = Object.fromEntries(
    Object.entries(bundles).map(([source, bundle]) => [
      `file://${inProject(source)}`,
      `file://${bundle}`,
    ]),
  );
  await Deno.writeTextFile(path, JSON.stringify({ imports }));
  return path;
}

/** Names of today that rows use, and what they were before. */
const RENAMED: Readonly<Record<string, string>> = { WorkCompletionList: "WorkCompletions" };

/** A module with the names of today. */
async function adapted(module: string): Promise<string> {
  const has = await import(`file://${module}`);
  const from = JSON.stringify(`file://${module}`);
  const renamed = Object.entries(RENAMED).flatMap(([now, before]) =>
    now in has ? [] : [`export { ${before} as ${now} } from ${from};\n`]
  );
  const path = `${out}/bench-old.js`;
  await Deno.writeTextFile(path, `export * from ${from};\n${renamed.join("")}`);
  return path;
}
