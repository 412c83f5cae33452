/** Runs the tests of the library on another release of Debian, or those of devices on another kernel. */

import { dirname } from "node:path";
import { ensureKernel } from "../rxe/guest/kernel.ts";
import { stdArguments } from "./host/jsr.ts";
import { runTests } from "./host/other_deno.ts";
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
import { tool } from "./host/tool.ts";
import { pathWithEmulator } from "./tests/emulator.ts";
import { testFiles } from "./tests/files.ts";
import { add, type Counts, NONE } from "./tests/junit.ts";
import { ensureForLibraryTests, libraryTests } from "./tests/of_library.ts";
import { foldersOf, plan } from "./tests/plan.ts";
import { runPasses } from "./tests/run.ts";

/** The userland with which each kernel is tested: together they are of one time. */
const WITH: Readonly<Record<KernelName, UserlandName>> = {
  "6.1": "12",
  "6.12": "13",
  "7.3": "sid",
};
const NAMES = [...Object.keys(USERLANDS), ...Object.keys(KERNELS)].join(", ");

const HELP = `Runs the library tests on a release of Debian, or the device tests on a kernel.

  deno task long systems NAME [FOLDERS...]

NAME is one of ${NAMES}.
What is missing is downloaded into the cache, up to 300 MB. The device tests run folder by folder:
FOLDERS, or all. It prints the row of docs/systems.md.
`;

await tool(HELP, {}, async (_options, [name = "", ...folders]) => {
  const isKernel = Object.hasOwn(KERNELS, name);
  if (!isKernel && !Object.hasOwn(USERLANDS, name)) {
    throw new SetupError(`There is no system ${JSON.stringify(name)}, only ${NAMES}`);
  }
  await ensureForLibraryTests();
  const userland = isKernel ? WITH[name as KernelName] : name as UserlandName;
  const root = await ensureUserland(userland);
  const { passed, failed, ignored } = isKernel
    ? await onKernel(name as KernelName, userland, folders)
    : await onUserland(userland, root);
  const kernel = isKernel ? `Linux ${(await ensureKernel(name as KernelName)).version}, ` : "";
  const cells = [isKernel ? "device" : "library", `${kernel}Debian ${userland}`];
  const date = new Date().toISOString().slice(0, 10);
  cells.push(...await versionsOf(root), ...[passed, failed, ignored].map(String), date);
  console.log(`\n| ${cells.join(" | ")} |`);
  return passed > 0 && failed === 0 ? 0 : 1;
});

async function onUserland(name: UserlandName, root: string): Promise<Counts> {
  say(`\n== library tests on Debian ${name}`);
  return await runTests({
    command: within(root, [DENO_WITHIN]),
    name: `debian-${name}`,
    options: await stdArguments(),
    path: await pathWithEmulator(true),
  }, libraryTests().filter((file) => /tests\/library\//.test(file)));
}

/** A guest is given too little time for all folders. */
async function onKernel(
  kernel: KernelName,
  userland: UserlandName,
  folders: readonly string[],
): Promise<Counts> {
  const all = new Set(testFiles(foldersOf("device")).map((file) => dirname(file)));
  let sum = NONE;
  for (const folder of folders.length > 0 ? folders : all) {
    say(`\n== ${folder} on Linux ${kernel}`);
    const counts = await runPasses(plan({ paths: [folder], both: false }), {
      ...{ guest: true, extra: [], filtered: false, traced: false, brief: false },
      system: { kernel, userland },
    });
    sum = add(sum, counts);
  }
  return sum;
}

/** The versions of rdma-core and of glibc. */
async function versionsOf(root: string): Promise<string[]> {
  const files = [...Deno.readDirSync(`${root}/usr/lib/x86_64-linux-gnu`)].map(({ name }) => name);
  const library = files.find((name) => /^libibverbs\.so\.1\.\d+\./.test(name))!;
  const [program, ...args] = within(root, ["ldd", "--version"]);
  const [first = ""] = (await demand(program, ...args)).split("\n");
  return [library.split(".").slice(-2).join("."), first.split(" ").at(-1)!];
}
