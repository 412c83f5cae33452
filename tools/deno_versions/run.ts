/** What a version of Deno makes of the library. */

import denoJson from "../../deno.json" with { type: "json" };
import stdMap from "../std/import_map.json" with { type: "json" };
import { say } from "../../rxe/host/report.ts";
import { capture, exists, lastLines } from "../../rxe/host/shell.ts";
import { inProject, out, project } from "../host/paths.ts";
import { pathWithEmulator } from "../tests/emulator.ts";
import { add, countCases, type Counts, NONE } from "../tests/junit.ts";
import { libraryTests } from "../tests/of_library.ts";

/** The tests take half a minute where nothing else runs. A wait that never ends fails. */
const SECONDS = 600;

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
export async function runTests(deno: string, version: string): Promise<Counts> {
  say(`\n== Deno ${version}`);
  const report = `${out}/junit-deno-${version}.xml`;
  await Deno.mkdir(out, { recursive: true });
  if (exists(report)) await Deno.remove(report);
  // An older Deno refuses what it does not know in deno.json.
  const options = ["--no-config", `--import-map=${await importMap()}`, "--no-check", "--allow-all"];
  const test = ["test", ...options, "--v8-flags=--expose-gc", `--junit-path=${report}`];
  const { code } = await new Deno.Command("timeout", {
    args: ["--kill-after=5", `${SECONDS}`, deno, ...test, ...libraryTests()],
    cwd: project,
    env: { PATH: await pathWithEmulator(), DENO_DIR: inProject(`.cache/deno-${version}`) },
    stdin: "null",
  }).spawn().status;
  const counts = exists(report) ? countCases(await Deno.readTextFile(report)) : NONE;
  if (code === 0 || counts.failed > 0) return counts;
  say(`error: deno test ended with status ${code}`);
  return add(counts, { ...NONE, failed: 1 });
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
