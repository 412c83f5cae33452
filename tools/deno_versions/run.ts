/** What a version of Deno makes of the library. */

import denoJson from "../../deno.json" with { type: "json" };
import stdMap from "../std/import_map.json" with { type: "json" };
import { say } from "../../rxe/host/report.ts";
import { capture, lastLines } from "../../rxe/host/shell.ts";
import { runTests } from "../host/other_deno.ts";
import { inProject } from "../host/paths.ts";
import { pathWithEmulator } from "../tests/emulator.ts";
import { type Counts, NONE } from "../tests/junit.ts";
import { libraryTests } from "../tests/of_library.ts";

/** What a program does that uses the library for the first time. */
const FIRST_USE = `
const { Gid, listDevices } = await import(${JSON.stringify(`file://${inProject("mod.ts")}`)});
console.log(Gid.parse("::1").toString());
try {
  listDevices();
  console.log("works");
} catch (error) {
  console.log(error.name + ": " + error.message);
}`;

/** A version that is too old: the library can be imported, and names the lowest version on first use. */
export async function runRefused(deno: string, version: string, lowest: string): Promise<Counts> {
  say(`\n== Deno ${version}, which is refused`);
  const { stdout, stderr } = await capture(deno, "eval", "--no-config", FIRST_USE);
  const refusal = `NotSupported: Cannot open libibverbs: Deno ${version} is not supported, ` +
    `only ${lowest} and newer are; run "deno upgrade"`;
  if (stdout === `::1\n${refusal}\n`) return { ...NONE, passed: 1 };
  say(`error: it is not refused: ${stdout}${lastLines(stderr, 4)}`);
  return { ...NONE, failed: 1 };
}

/** A version that works: it runs the tests. */
export async function runWith(program: string, version: string): Promise<Counts> {
  say(`\n== Deno ${version}`);
  // An older Deno refuses what it does not know in deno.json.
  const options = ["--no-config", `--import-map=${await importMap()}`];
  const path = await pathWithEmulator();
  return await runTests({ program, name: `deno-${version}`, options, path }, libraryTests());
}

/** Stands for deno.json: where the package itself is, and adapters for @std. */
async function importMap(): Promise<string> {
  const url = (path: string): string => `file://${inProject(path)}`;
  const itself = Object.entries(denoJson.exports)
    .map(([name, path]) => [`${denoJson.name}${name.slice(1)}`, url(path.slice(2))]);
  const std = Object.entries(stdMap.imports)
    .map(([name, path]) => [name, url(`tools/std/${path.slice(2)}`)]);
  const file = inProject(".cache/import_map.json");
  await Deno.mkdir(inProject(".cache"), { recursive: true });
  await Deno.writeTextFile(
    file,
    JSON.stringify({ imports: Object.fromEntries([...itself, ...std]) }),
  );
  return file;
}
