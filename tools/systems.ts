/** Runs the tests of the library on other releases of Debian, and those of devices on other kernels. */

import { dirname } from "node:path";
import { ensureKernel } from "../rxe/guest/kernel.ts";
import {
  demand,
  DENO_WITHIN,
  ensureUserland,
  type KernelName,
  KERNELS,
  say,
  SetupError,
  type UserlandName,
  USERLANDS,
  within,
} from "./host/setup.ts";
import { stdArguments } from "./host/jsr.ts";
import { runTests } from "./host/other_deno.ts";
import { inProject, out } from "./host/paths.ts";
import { tool } from "./host/tool.ts";
import { pageOf, type Row } from "./systems/page.ts";
import { type Parts, sumOf } from "./systems/parts.ts";
import { pathWithEmulator } from "./tests/emulator.ts";
import { testFiles } from "./tests/files.ts";
import type { Counts } from "./tests/junit.ts";
import { ensureForLibraryTests, libraryTests } from "./tests/of_library.ts";
import { foldersOf, plan } from "./tests/plan.ts";
import { runPasses } from "./tests/run.ts";

const USERLAND_NAMES = Object.keys(USERLANDS) as UserlandName[];
const KERNEL_NAMES = Object.keys(KERNELS) as KernelName[];

/** The userland with which each kernel is tested: together they are of one time. */
const WITH: Readonly<Record<KernelName, UserlandName>> = {
  "6.1": "12",
  "6.12": "13",
  "7.3": "sid",
};

/** A guest is given too little time for all of them. */
const FOLDERS = [...new Set(testFiles(foldersOf("device")).map((file) => dirname(file)))];

const PAGE = "docs/systems.md";

const HELP = `Runs the library tests on releases of Debian, and the device tests on kernels.

  deno task long systems [NAMES...] [FOLDERS...]

NAMES are releases of Debian (${USERLAND_NAMES.join(", ")}) and kernels (${
  KERNEL_NAMES.join(", ")
}).
Without any, it runs all. What is missing is downloaded into the cache, about 1 GB. The results are
written to ${PAGE}.

The device tests run folder by folder. FOLDERS are those of device tests that run, all by default;
of the others the results of the last run count, which are kept in out/.
`;

await tool(HELP, {}, async (_options, operands) => {
  const { folders = [], names: given = [] } = Object.groupBy(
    operands.map((operand) => operand.replace(/\/+$/, "")),
    (operand) => FOLDERS.includes(operand) ? "folders" : "names",
  );
  const names = given.length > 0 ? given : [...USERLAND_NAMES, ...KERNEL_NAMES];
  const unknown = names.find((name) => !Object.hasOwn({ ...USERLANDS, ...KERNELS }, name));
  if (unknown !== undefined) {
    const all = [...USERLAND_NAMES, ...KERNEL_NAMES].join(", ");
    throw new SetupError(`There is no system ${JSON.stringify(unknown)}, only ${all}`);
  }
  await ensureForLibraryTests();
  let failed = 0;
  for (const name of names) {
    const row = Object.hasOwn(KERNELS, name)
      ? await onKernel(name as KernelName, folders.length > 0 ? folders : FOLDERS)
      : await onUserland(name as UserlandName);
    failed += row.counts.failed + (row.counts.passed === 0 ? 1 : 0);
    const file = inProject(PAGE);
    const before = await Deno.readTextFile(file).catch(() => "");
    await Deno.writeTextFile(file, pageOf(before, row));
  }
  return failed === 0 ? 0 : 1;
});

async function onUserland(name: UserlandName): Promise<Row> {
  say(`\n== library tests on Debian ${name}`);
  const root = await ensureUserland(name);
  const counts = await runTests({
    command: within(root, [DENO_WITHIN]),
    name: `debian-${name}`,
    options: await stdArguments(),
    path: await pathWithEmulator(true),
  }, libraryTests().filter((file) => /tests\/library\//.test(file)));
  return told({ system: `Debian ${name}`, tests: "library", ...await versionsOf(root), counts });
}

async function onKernel(name: KernelName, folders: readonly string[]): Promise<Row> {
  const userland = WITH[name];
  const root = await ensureUserland(userland);
  const { version } = await ensureKernel(name);
  const system = `Linux ${version}, Debian ${userland}`;
  const file = `${out}/systems-${name}.json`;
  const parts: Parts = JSON.parse(await Deno.readTextFile(file).catch(() => "{}"));
  for (const folder of folders) {
    say(`\n== ${folder} on ${system}`);
    const counts = await runPasses(plan({ paths: [folder], both: false }), {
      ...{ guest: true, extra: [], filtered: false, traced: false },
      system: { kernel: name, userland },
    });
    parts[folder] = { ...counts, date: today() };
    await Deno.writeTextFile(file, JSON.stringify(parts, null, 2));
  }
  const { date, ...counts } = sumOf(parts, FOLDERS);
  return { ...told({ system, tests: "device", ...await versionsOf(root), counts }), date };
}

async function versionsOf(root: string): Promise<{ rdmaCore: string; glibc: string }> {
  const files = [...Deno.readDirSync(`${root}/usr/lib/x86_64-linux-gnu`)].map(({ name }) => name);
  const library = files.find((name) => /^libibverbs\.so\.1\.\d+\./.test(name))!;
  const [program, ...args] = within(root, ["ldd", "--version"]);
  const [first = ""] = (await demand(program, ...args)).split("\n");
  return { rdmaCore: library.split(".").slice(-2).join("."), glibc: first.split(" ").at(-1)! };
}

function told(row: Omit<Row, "date">): Row {
  const { passed, failed, ignored }: Counts = row.counts;
  const result = `${passed} passed, ${failed} failed, ${ignored} left out`;
  console.log(`\n${row.system}, rdma-core ${row.rdmaCore}, ${row.tests} tests: ${result}`);
  return { ...row, date: today() };
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}
