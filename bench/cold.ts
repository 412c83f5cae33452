/** What comes before any work. All times are in nanoseconds. */

import { cache, inProject, project } from "../tools/host/paths.ts";

/** How much longer Deno takes to start if it imports the library. */
export async function importCost(): Promise<number> {
  const imports = `import ${JSON.stringify(`file://${inProject("mod.ts")}`)}`;
  const bare = await evaluate("");
  const imported = await evaluate(imports);
  return Math.max(0, imported - bare);
}

async function evaluate(script: string): Promise<number> {
  const start = performance.now();
  const { success } = await new Deno.Command(Deno.execPath(), { args: ["eval", script] }).output();
  if (!success) throw new Error("Cannot measure: deno eval failed");
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
