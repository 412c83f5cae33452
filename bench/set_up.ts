/** What comes before any work: starting Deno with the library, starting the guest, the room that it takes. */

import { cache, inProject, project } from "../tools/host/paths.ts";
import { summarize } from "./measurement.ts";

/** A figure of the set-up, with its target. */
export interface Figure {
  readonly title: string;
  readonly value: number;
  readonly unit: string;
  /** At most this. */
  readonly limit: number;
}

/** Measures them. */
export async function measureSetUp(rounds: number): Promise<Figure[]> {
  return [
    { title: "import of mod.ts", value: await importCost(2 * rounds), unit: "ms", limit: 20 },
    { title: "guest, start to command", value: await guestStart(), unit: "s", limit: 10 },
    { title: "cache", value: folderSize(cache) / 1e6, unit: "MB", limit: 300 },
  ];
}

/** Milliseconds that importing the library adds to starting Deno. */
async function importCost(rounds: number): Promise<number> {
  const bare: number[] = [];
  const imported: number[] = [];
  const script = `import ${JSON.stringify(`file://${inProject("mod.ts")}`)}`;
  await evaluate(script);
  for (let i = 0; i < rounds; i++) {
    bare.push(await evaluate(""));
    imported.push(await evaluate(script));
  }
  return summarize(imported).median - summarize(bare).median;
}

async function evaluate(script: string): Promise<number> {
  const start = performance.now();
  const { success } = await new Deno.Command(Deno.execPath(), { args: ["eval", script] }).output();
  if (!success) throw new Error("Cannot measure: deno eval failed");
  return performance.now() - start;
}

/** Seconds from the start of the tool until the guest runs its command. */
async function guestStart(): Promise<number> {
  const start = performance.now();
  const child = new Deno.Command(Deno.execPath(), {
    args: ["task", "vm", "--", "echo", "started"],
    cwd: project,
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const output = child.stdout.getReader();
  await output.read();
  const seconds = (performance.now() - start) / 1000;
  await output.cancel();
  await child.status;
  return seconds;
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
