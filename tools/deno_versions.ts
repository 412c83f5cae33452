/** Runs the tests of the library by another version of Deno, or checks that one too old is refused. */

import denoJson from "../deno.json" with { type: "json" };
import { isBelow, LOWEST_DENO } from "../ffi/platform.ts";
import { capture, lastLines, say } from "./host/setup.ts";
import { fetchDeno, runTests, versionOf } from "./host/other_deno.ts";
import { inProject } from "./host/paths.ts";
import stdMap from "./std/import_map.json" with { type: "json" };
import { pathWithEmulator } from "./tests/emulator.ts";
import { type Counts, NONE } from "./tests/junit.ts";
import { ensureForLibraryTests, libraryTests } from "./tests/of_library.ts";
import { tool } from "./host/tool.ts";

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

const HELP = `Runs the tests of the library that need no device by another version of Deno.

  deno task long versions VERSION

VERSION is a number, or a name such as latest. Versions before ${LOWEST_DENO}, the lowest that works,
must be refused.
`;

await tool(HELP, {}, async (_options, [name = LOWEST_DENO]) => {
  await ensureForLibraryTests();
  const version = await versionOf(name);
  const deno = await fetchDeno(version);
  say(`\n== Deno ${version}`);
  const isOld = isBelow(version, LOWEST_DENO);
  const { passed, failed } = isOld ? await runRefused(deno, version) : await runWith(deno, version);
  console.log(`\n${passed} passed, ${failed} failed by Deno ${version}`);
  return failed === 0 && passed > 0 ? 0 : 1;
});

/** A version that is too old: the library can be imported, and names the lowest version on first use. */
async function runRefused(deno: string, version: string): Promise<Counts> {
  const { stdout, stderr } = await capture(deno, "eval", "--no-config", FIRST_USE);
  const refusal = `NotSupported: Cannot open libibverbs: Deno ${version} is not supported, ` +
    `only ${LOWEST_DENO} and newer are; run "deno upgrade"`;
  if (stdout === `::1\n${refusal}\n`) return { ...NONE, passed: 1 };
  say(`error: it is not refused: ${stdout}${lastLines(stderr, 4)}`);
  return { ...NONE, failed: 1 };
}

/** A version that works: it runs the tests. */
async function runWith(program: string, version: string): Promise<Counts> {
  // An older Deno refuses what it does not know in deno.json.
  const options = ["--no-config", `--import-map=${await importMap()}`];
  const path = await pathWithEmulator();
  return await runTests(
    { command: [program], name: `deno-${version}`, options, path },
    libraryTests(),
  );
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
    JSON.stringify({
      imports: Object.fromEntries([...itself, ["@rdma/cli", url("cli/mod.ts")], ...std]),
    }),
  );
  return file;
}
