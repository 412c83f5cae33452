/** What comes before any work. All times are in nanoseconds. */

import { cache } from "../rxe/host/paths.ts";
import { inProject, project } from "../tools/host/paths.ts";

const here = new URL(".", import.meta.url).pathname;
const DENO = ["run", "-A", "--no-check"];

/** In which language a program starts. */
export type Start = "c" | "deno" | "python";

/** From the start of a program that does what comes first, until its end. See c/cold.h. */
export async function firstWork(
  start: Start,
  what: string,
  programs: Readonly<Record<string, string>>,
): Promise<number> {
  const provider = programs["provider"]!;
  if (start === "deno") {
    const args = [...DENO, `${here}deno/cold.ts`, what];
    return await timeOf([Deno.execPath(), ...args], { IBVERBS_LIBRARY: provider });
  }
  const command = start === "c"
    ? [programs["contender"]!]
    : ["/usr/bin/python3", `${here}python/contender.py`];
  return await timeOf([...command, "cold", what], { LD_PRELOAD: provider });
}

/** A program of Deno that does nothing. */
export async function bareStart(): Promise<number> {
  return await timeOf([Deno.execPath(), ...DENO, `${here}deno/nothing.ts`]);
}

/** How much longer Deno takes for a program that imports the library and does nothing else. */
export async function importCost(): Promise<number> {
  const bare = await bareStart();
  return Math.max(0, await timeOf([Deno.execPath(), ...DENO, inProject("mod.ts")]) - bare);
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

/** From the start of the tool until the guest runs its command. */
export async function guestStart(): Promise<number> {
  const start = performance.now();
  const child = new Deno.Command(Deno.execPath(), {
    args: ["task", "vm", "--", "echo", "started"],
    cwd: project,
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const output = child.stdout.getReader();
  const { done } = await output.read();
  const nanoseconds = (performance.now() - start) * 1e6;
  await output.cancel();
  await child.status;
  if (done) throw new Error("Cannot measure: the guest did not start");
  return nanoseconds;
}

/** Bytes of what is downloaded and built. */
export function cacheSize(): Promise<number> {
  return Promise.resolve(folderSize(cache));
}

function folderSize(folder: string): number {
  let size = 0;
  for (const { name, isDirectory, isFile } of Deno.readDirSync(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) size += folderSize(path);
    else if (isFile) size += Deno.lstatSync(path).size;
  }
  return size;
}
