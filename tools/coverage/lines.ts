/** Measures which lines of the library the tests run, and fails if it is too few of a folder's. */

import { say, SetupError } from "../../rxe/host/report.ts";
import { demand, exists } from "../../rxe/host/shell.ts";
import { stdArguments } from "../host/jsr.ts";
import { inProject, out, project, sourcesIn } from "../host/paths.ts";
import { belowFloor, type Floors, linesOfFolders, tableOf } from "./lcov.ts";
import { tool } from "../host/tool.ts";

const HELP =
  `Runs the tests and measures which lines of types, ffi, internal, net, cli and rxe they run.

  deno task long coverage [OPTIONS]

  --host    only the tests that need no device

Writes the table in docs/reliability.md. Exit status: 1 if a test fails, or if a folder is below
its floor.
`;

/** Shares of lines in percent. Tests that need no device reach them alone. */
const FLOORS: Floors = { types: 95, ffi: 98, internal: 95, net: 50, cli: 74, rxe: 50 };

/** Every process that the tests start writes here. */
const RAW = `${out}/coverage`;
const REPORT = `${out}/coverage.lcov`;
/** Leaves out a report of each process. */
const RAW_ONLY = "--coverage-raw-data-only";
const DOCUMENT = inProject("docs/reliability.md");

await tool(HELP, { host: "flag" }, async ({ host }) => {
  if (exists(RAW)) await Deno.remove(RAW, { recursive: true });
  await Deno.mkdir(RAW, { recursive: true });
  const paths = host ? ["tests/pure", "tests/library"] : [];
  const tests = await measured("task", "test", "--no-check", ...paths, "--", RAW_ONLY);
  await loadAll(Object.keys(FLOORS));
  const folders = linesOfFolders(await report(), project);
  const by = host ? "the tests that need no device" : "all tests";
  const table = `Lines that ${by} run:\n\n${tableOf(folders, FLOORS)}`;
  console.log(`\n${table}`);
  await write(table);
  const faults = belowFloor(folders, FLOORS);
  if (!tests) faults.push("tests failed");
  for (const fault of faults) say(`error: ${fault}`);
  return faults.length === 0 ? 0 : 1;
});

async function measured(...args: string[]): Promise<boolean> {
  const env = { DENO_COVERAGE_DIR: RAW };
  const command = new Deno.Command(Deno.execPath(), { args, cwd: project, env });
  return (await command.spawn().status).success;
}

/** Loads what no test loads, whose lines would not be counted. */
async function loadAll(folders: readonly string[]): Promise<void> {
  const files = folders.flatMap((folder) => sourcesIn(folder)).map(inProject);
  const program = `${out}/load_all.ts`;
  await Deno.writeTextFile(program, files.map((file) => `import "${file}";\n`).join(""));
  const args = ["run", "--allow-all", "--no-check", ...await stdArguments(), program];
  if (!await measured(...args)) throw new SetupError("Cannot load all files");
}

async function report(): Promise<string> {
  // A process that is killed leaves a file that it has not written.
  for (const { name } of Deno.readDirSync(RAW)) {
    const file = `${RAW}/${name}`;
    if (name.endsWith(".tar")) await demand("tar", "-xf", file, "-C", RAW);
  }
  for (const { name } of Deno.readDirSync(RAW)) {
    const file = `${RAW}/${name}`;
    if (!(await Deno.readTextFile(file)).endsWith("}")) await Deno.remove(file);
  }
  const args = ["coverage", "--quiet", "--lcov", `--output=${REPORT}`, RAW];
  await demand(Deno.execPath(), ...args);
  return await Deno.readTextFile(REPORT);
}

/** Writes the table between its two marks. */
async function write(table: string): Promise<void> {
  const text = await Deno.readTextFile(DOCUMENT);
  const written = text.replace(
    /(<!-- coverage -->\n)[^]*?(<!-- end of coverage -->)/,
    `$1\n${table}\n$2`,
  );
  await Deno.writeTextFile(DOCUMENT, written);
  await demand(Deno.execPath(), "fmt", "--quiet", DOCUMENT);
}
