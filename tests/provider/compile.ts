// Builds the recorder.

import { CACHE, compileC } from "../c/compile.ts";
import { newerHeader } from "./newer.ts";

/** Its own functions are meant by its own names, whatever else the process has loaded. */
const LINKED = ["-shared", "-fPIC", "-Wl,-Bsymbolic", "-ldl", "-lpthread"];
const FLAGS = ["-D_GNU_SOURCE", "-Werror", "-g", ...LINKED];

const MAIN = "core/objects.c";

/** Compiles the recorder and returns the path of the library. */
export async function recorderPath(): Promise<string> {
  return await compiled([]);
}

/** The same of the plain device, which carries messages between processes at full speed and records nothing. */
export async function shmPath(): Promise<string> {
  return await compiled(["-DIS_PLAIN=1"]);
}

async function compiled(flags: string[]): Promise<string> {
  const files = (await Promise.all(["core", "shm", "verbs"].map(sources))).flat();
  const others = files.filter((file) => file.endsWith(".c") && !file.endsWith(`/${MAIN}`));
  const include = [`-I${new URL("c/core/", import.meta.url).pathname}`, "-include", await newer()];
  // compileC() finds its results by the flags: this one changes with any of the files.
  const key = `-DSOURCES="${await digest(files)}"`;
  return await compileC(`../provider/c/${MAIN}`, [...flags, ...others, ...include, key, ...FLAGS]);
}

async function sources(folder: string): Promise<string[]> {
  const url = new URL(`c/${folder}/`, import.meta.url);
  const names = (await Array.fromAsync(Deno.readDir(url))).map(({ name }) => name);
  return names.sort().map((name) => new URL(name, url).pathname);
}

/** Writes what the installed header lacks, and returns the path of that header. */
async function newer(): Promise<string> {
  const text = await newerHeader();
  const path = new URL(`newer-${await digestOf([text])}.h`, CACHE).pathname;
  await Deno.mkdir(CACHE, { recursive: true });
  // Tests in other processes may read it: it appears when it is whole.
  const partial = `${path}.${crypto.randomUUID()}`;
  await Deno.writeTextFile(partial, text);
  await Deno.rename(partial, path);
  return path;
}

async function digest(files: string[]): Promise<string> {
  return await digestOf(await Promise.all(files.map((file) => Deno.readTextFile(file))));
}

async function digestOf(texts: readonly string[]): Promise<string> {
  const bytes = new TextEncoder().encode(texts.join("\0"));
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).slice(0, 8).toHex();
}
