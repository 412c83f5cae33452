/** Runs the tests of the library on other releases of Debian, and those of devices on other kernels. */

import { ensureKernel } from "../rxe/guest/kernel.ts";
import { say, SetupError } from "../rxe/host/report.ts";
import { demand } from "../rxe/host/shell.ts";
import { type KernelName, KERNELS, type UserlandName, USERLANDS } from "../rxe/host/systems.ts";
import { DENO_WITHIN, ensureUserland, within } from "../rxe/host/userland.ts";
import { stdArguments } from "./host/jsr.ts";
import { runTests } from "./host/other_deno.ts";
import { inProject } from "./host/paths.ts";
import { tool } from "./host/tool.ts";
import { pageOf, type Row } from "./systems/page.ts";
import { pathWithEmulator } from "./tests/emulator.ts";
import type { Counts } from "./tests/junit.ts";
import { ensureForLibraryTests, libraryTests } from "./tests/of_library.ts";
import { plan } from "./tests/plan.ts";
import { runPasses } from "./tests/run.ts";

const USERLAND_NAMES = Object.keys(USERLANDS) as UserlandName[];
const KERNEL_NAMES = Object.keys(KERNELS) as KernelName[];

/** The userland with which each kernel is tested: together they are of one time. */
const WITH: Readonly<Record<KernelName, UserlandName>> = {
  "6.1": "12",
  "6.12": "13",
  "7.3": "sid",
};

const PAGE = "docs/systems.md";

const HELP = `Runs the library tests on releases of Debian, and the device tests on kernels.

  deno task long systems [NAMES...]

NAMES are releases of Debian (${USERLAND_NAMES.join(", ")}) and kernels (${
  KERNEL_NAMES.join(", ")
}).
Without any, it runs all. What is missing is downloaded into the cache, about 1 GB. The results are
written to ${PAGE}.
`;

await tool(HELP, {}, async (_options, operands) => {
  const names = operands.length > 0 ? operands : [...USERLAND_NAMES, ...KERNEL_NAMES];
  const unknown = names.find((name) => !Object.hasOwn({ ...USERLANDS, ...KERNELS }, name));
  if (unknown !== undefined) {
    const all = [...USERLAND_NAMES, ...KERNEL_NAMES].join(", ");
    throw new SetupError(`There is no system ${JSON.stringify(unknown)}, only ${all}`);
  }
  await ensureForLibraryTests();
  let failed = 0;
  for (const name of names) {
    const row = Object.hasOwn(KERNELS, name)
      ? await onKernel(name as KernelName)
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
  }, libraryTests().filter((file) => file.startsWith("tests/library/")));
  return told({ system: `Debian ${name}`, tests: "library", ...await versionsOf(root), counts });
}

async function onKernel(name: KernelName): Promise<Row> {
  const userland = WITH[name];
  const root = await ensureUserland(userland);
  const { version } = await ensureKernel(name);
  say(`\n== device tests on Linux ${version}, Debian ${userland}`);
  const system = { kernel: name, userland };
  const counts = await runPasses(plan({ paths: ["tests/device"], both: false }), {
    ...{ guest: true, extra: [], filtered: false, traced: false, system },
  });
  const what = `Linux ${version}, Debian ${userland}`;
  return told({ system: what, tests: "device", ...await versionsOf(root), counts });
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
  return { ...row, date: new Date().toISOString().slice(0, 10) };
}
