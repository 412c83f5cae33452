/** Writes ffi/layout.ts from the newest header, or checks it against any header with `--check`. */

import { text as anyText } from "../host/options.ts";
import { demand, say } from "../host/setup.ts";
import { inProject } from "../host/paths.ts";
import { tool } from "../host/tool.ts";
import { ensureForLibraryTests } from "../tests/of_library.ts";
import { findFaults } from "./check.ts";
import { emit } from "./emit.ts";
import { tableOf } from "./model.ts";
import { readHeader } from "./read.ts";
import { usableArchitectures } from "./toolchain.ts";

const HELP = `Writes ffi/layout.ts from infiniband/verbs.h, rdma/rdma_cma.h and
infiniband/efadv.h. Constants of the system come from its own headers.

  deno task generate layout [OPTIONS]

  --check           compare the table with the headers, which may be older
  --root FOLDER     the headers of the system that is unpacked there
  --version TEXT    the version of libibverbs-dev to name; that of the package here if left out

Writing takes the compilers of both architectures and the newest header. The exit status is 1 when
the header has what the table has not, or has it otherwise.
`;

const FILE = inProject("ffi/layout.ts");

await tool(HELP, { check: "flag", root: anyText, version: anyText }, async (options) => {
  await ensureForLibraryTests();
  const { root, check, version } = options;
  if (root === undefined) return await run(check, version);
  // The compiler takes nothing else of that system.
  const include = await Deno.makeTempDir();
  for (const folder of ["infiniband", "rdma"]) {
    await Deno.symlink(`${root}/usr/include/${folder}`, `${include}/${folder}`);
  }
  Deno.env.set("CPATH", include);
  try {
    return await run(check, version);
  } finally {
    await Deno.remove(include, { recursive: true });
  }
});

async function run(check: true | undefined, version: string | undefined): Promise<number> {
  if (!check) await write(version);
  // What was just written is checked too: a constant that depends on the architecture shows only here.
  const text = await Deno.readTextFile(FILE);
  const { faults, newer } = await findFaults(tableOf(await import(FILE)), text);
  for (const entry of newer) console.log(`newer than the header: ${entry}`);
  for (const fault of faults) say(fault);
  if (faults.length > 0) return 1;
  const architectures = (await usableArchitectures()).join(" and ");
  console.log(`ffi/layout.ts matches the header on ${architectures}`);
  return 0;
}

async function write(version: string | undefined): Promise<void> {
  const { structs: x86_64, enums, constants } = await readHeader("x86_64");
  const { structs: aarch64 } = await readHeader("aarch64");
  version ??= await demand("dpkg-query", "--show", "--showformat=${Version}", "libibverbs-dev");
  const table = { x86_64, aarch64, enums, constants };
  const text = emit(await Deno.readTextFile(FILE), table, `libibverbs-dev ${version}`);
  await Deno.writeTextFile(FILE, text);
  console.log("Wrote ffi/layout.ts");
}
