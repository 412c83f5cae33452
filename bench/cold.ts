/** What comes before any work. All times are in nanoseconds. */

import { inProject } from "../tools/host/paths.ts";

const here = new URL(".", import.meta.url).pathname;
const DENO = ["run", "-A", "--no-check"];

/** In which language a program starts; in Deno, with the package as it is published or with the sources. */
export type Start = "c" | "deno" | "sources" | "python";

/** The programs of the stage. "package" is the folder of the package, "importMap" has its bundles in place of the sources. */
export type Programs = Readonly<Record<string, string>>;

/** From the start of a program that does what comes first, until its end. See c/cold.h. */
export async function firstWork(start: Start, what: string, programs: Programs): Promise<number> {
  const provider = programs["provider"]!;
  if (start === "deno" || start === "sources") {
    const map = start === "deno" ? [`--import-map=${programs["importMap"]}`] : [];
    const args = [...DENO, ...map, `${here}deno/cold.ts`, what];
    return await timeOf([Deno.execPath(), ...args], { IBVERBS_LIBRARY: provider });
  }
  const command = start === "c"
    ? [programs["contender"]!]
    : ["/usr/bin/python3", `${here}python/contender.py`];
  return await timeOf([...command, "cold", what], { LD_PRELOAD: provider });
}

export async function bundleOf(folder: string, name: string = "."): Promise<string> {
  const { exports } = JSON.parse(await Deno.readTextFile(`${folder}/deno.json`));
  return `${folder}/${exports[name]}`;
}

const MAPPED = { ".": "mod.ts", "./net": "net/mod.ts", "./cm": "cm.ts" };

/** Writes an import map by which programs of the project import the bundles in place of the sources. */
export async function writeImportMap(path: string, folder: string): Promise<void> {
  const imports: Record<string, string> = {};
  for (const [name, source] of Object.entries(MAPPED)) {
    imports[`file://${inProject(source)}`] = `file://${await bundleOf(folder, name)}`;
  }
  await Deno.writeTextFile(path, JSON.stringify({ imports }));
}

/**
 * Runs modules until Deno has kept their compiled code, as Python keeps its bytecode after the first import. A program that
 * calls `Deno.exit()` leaves none.
 */
export async function keepCompiled(...modules: readonly string[]): Promise<void> {
  for (const module of modules) {
    for (let i = 0; i < 2; i++) await timeOf([Deno.execPath(), ...DENO, module]);
  }
}

/** A program of Deno that does nothing. */
export async function bareStart(): Promise<number> {
  return await timeOf([Deno.execPath(), ...DENO, `${here}deno/nothing.ts`]);
}

/** How much longer Deno takes for a program that imports a module and does nothing else. */
export async function importCost(module: string): Promise<number> {
  const bare = await bareStart();
  return Math.max(0, await timeOf([Deno.execPath(), ...DENO, module]) - bare);
}

async function timeOf(
  command: readonly string[],
  env: Record<string, string> = {},
): Promise<number> {
  const [program, ...args] = command;
  const start = performance.now();
  const child = new Deno.Command(program!, { args, env, stdin: "null", stdout: "null" }).spawn();
  const { success } = await child.status;
  if (!success) throw new Error(`Cannot measure: ${command.join(" ")} failed`);
  return (performance.now() - start) * 1e6;
}
