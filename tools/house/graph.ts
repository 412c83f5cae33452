/** Which file of a project imports which, types and values alike. */

import { fileURLToPath, pathToFileURL } from "node:url";
import { demand, exists } from "../../rxe/host/shell.ts";
import { sourcesIn } from "../host/paths.ts";

/** For each file what it imports: files as paths from the project's folder, all else as it is written. */
export type Graph = ReadonlyMap<string, readonly string[]>;

interface Info {
  modules: { specifier: string; dependencies?: Dependency[] }[];
}

interface Dependency {
  specifier: string;
  code?: { specifier?: string };
  type?: { specifier?: string };
}

/**
 * Reads the imports of all TypeScript files in some folders, and of some files.
 *
 * @param root the project's folder.
 * @param args further arguments for Deno, such as an import map.
 */
export async function readGraph(
  root: string,
  paths: readonly string[],
  args: readonly string[] = [],
): Promise<Graph> {
  const files = paths.flatMap((path) => filesOf(root, path));
  const graph = new Map<string, readonly string[]>(files.map((file) => [file, []]));
  for (const { specifier, dependencies = [] } of (await info(root, files, args)).modules) {
    const file = within(root, specifier);
    if (file === undefined || !graph.has(file)) continue;
    const targets = dependencies.flatMap((dependency) => targetsOf(root, dependency));
    graph.set(file, [...new Set(targets)]);
  }
  return graph;
}

/** A circle of imports that leads from a file back to it, if there is one. */
export function circleIn(graph: Graph): string[] | undefined {
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (file: string): string[] | undefined => {
    const start = trail.indexOf(file);
    if (start >= 0) return [...trail.slice(start), file];
    if (done.has(file)) return undefined;
    done.add(file);
    trail.push(file);
    for (const target of graph.get(file) ?? []) {
      const circle = visit(target);
      if (circle !== undefined) return circle;
    }
    trail.pop();
  };
  for (const file of graph.keys()) {
    const circle = visit(file);
    if (circle !== undefined) return circle;
  }
}

/** `deno info` takes one file: one that imports all others. */
async function info(root: string, files: string[], args: readonly string[]): Promise<Info> {
  const all = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    const imports = files.map((file) => `import "${pathToFileURL(`${root}/${file}`)}";\n`);
    await Deno.writeTextFile(all, imports.join(""));
    return JSON.parse(await demand(Deno.execPath(), "info", "--json", ...args, all));
  } finally {
    await Deno.remove(all);
  }
}

function targetsOf(root: string, { specifier, code, type }: Dependency): string[] {
  const resolved = [code?.specifier, type?.specifier].filter((target) => target !== undefined);
  if (resolved.length === 0) return [specifier];
  return resolved.map((target) => within(root, target) ?? target);
}

function within(root: string, specifier: string): string | undefined {
  if (!specifier.startsWith("file:")) return undefined;
  const path = fileURLToPath(specifier);
  return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : undefined;
}

function filesOf(root: string, path: string): string[] {
  if (!exists(`${root}/${path}`)) return [];
  return path.endsWith(".ts") ? [path] : sourcesIn(path, root);
}
