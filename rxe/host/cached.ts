/** Things made once and kept in the cache. */

import { dirname } from "node:path";
import { cacheFolder } from "./paths.ts";
import { say } from "./report.ts";
import { exists } from "./shell.ts";
import { attempt } from "./system_error.ts";

// As sha256sum writes it: `sha256sum --check SHA256SUMS` names the files that are damaged.
const SUMS = "SHA256SUMS";

const asked = new Map<string, Promise<string>>();

/**
 * The path of a folder in the cache. It is made when it is not there, and made anew when a file in it is damaged; one
 * process checks it only once.
 *
 * @param name its path below the cache; what is made gets that name only when it is whole.
 * @param make fills the empty folder it is given.
 * @throws {SetupError} when the system refuses to read or write there.
 */
export function cached(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = cacheFolder();
  const found = asked.get(name) ?? attempt(
    `use the cache ${folder}`,
    "make room there, or set IBVERBS_CACHE to a folder that can be written",
    () => ensure(`${folder}/${name}`, make),
  );
  asked.set(name, found);
  return found;
}

async function ensure(path: string, make: (folder: string) => Promise<void>): Promise<string> {
  if (await isWhole(path)) return path;
  await Deno.mkdir(dirname(path), { recursive: true });
  // Whoever comes second waits, and finds it made.
  using lock = await Deno.open(`${path}.lock`, { create: true, write: true });
  await lock.lock(true);
  if (await isWhole(path)) return path;
  if (exists(path)) {
    say(`set-up: ${path} is damaged, making it anew`);
    await Deno.remove(path, { recursive: true });
  }
  const partial = `${path}.partial`;
  if (exists(partial)) await Deno.remove(partial, { recursive: true });
  await Deno.mkdir(partial);
  await make(partial);
  await Deno.writeTextFile(`${partial}/${SUMS}`, await sumsOf(partial));
  await Deno.rename(partial, path);
  return path;
}

/** Whether a folder holds what was put there. */
async function isWhole(path: string): Promise<boolean> {
  if (!exists(`${path}/${SUMS}`)) return false;
  return await Deno.readTextFile(`${path}/${SUMS}`) === await sumsOf(path);
}

/** A name for what is made from some texts: other texts give another name. */
export async function digest(
  texts: readonly (string | Uint8Array<ArrayBuffer>)[],
): Promise<string> {
  const sums = await Promise.all(texts.map(sha256));
  return (await sha256(sums.join("\n"))).slice(0, 16);
}

async function sha256(data: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

async function sumsOf(folder: string): Promise<string> {
  let sums = "";
  for (const name of filesBelow(folder)) {
    sums += `${await sha256(await Deno.readFile(`${folder}/${name}`))}  ${name}\n`;
  }
  return sums;
}

/** The files in a folder and in those below it, as paths from there, in order. */
export function filesBelow(folder: string, prefix = ""): string[] {
  const entries = [...Deno.readDirSync(`${folder}/${prefix}`)];
  return entries.flatMap(({ name, isDirectory, isFile }) => {
    if (isDirectory) return filesBelow(folder, `${prefix}${name}/`);
    return isFile && `${prefix}${name}` !== SUMS ? [`${prefix}${name}`] : [];
  }).sort();
}
