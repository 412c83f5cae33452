/** Writes ffi/layout.ts from the installed header, or checks it with `--check`. */

import { say } from "../../rxe/host/report.ts";
import { demand } from "../../rxe/host/shell.ts";
import { inProject } from "../host/paths.ts";
import { tool } from "../host/tool.ts";
import { ensureForLibraryTests } from "../tests/of_library.ts";
import { findFaults, sourceOf } from "./check.ts";
import { emit } from "./emit.ts";
import { tableOf } from "./model.ts";
import { readHeader } from "./read.ts";
import { usableArchitectures } from "./toolchain.ts";

const HELP = `Writes ffi/layout.ts from the installed infiniband/verbs.h.

  deno task generate layout [--check]

That takes the compilers of both architectures. With --check it only compares. The exit status is 1
when they differ.
`;

const FILE = inProject("ffi/layout.ts");

await tool(HELP, { check: "flag" }, async ({ check }) => {
  await ensureForLibraryTests();
  if (!check) await write();
  // What was just written is checked too: a constant that depends on the architecture shows only here.
  const text = await Deno.readTextFile(FILE);
  const faults = await findFaults(tableOf(await import(FILE)), text);
  if (faults.length === 0) {
    const architectures = (await usableArchitectures()).join(" and ");
    console.log(`ffi/layout.ts matches the installed header on ${architectures}`);
    return 0;
  }
  say(`ffi/layout.ts is of ${sourceOf(text)}; the installed header differs:`);
  for (const fault of faults) say(`  ${fault}`);
  return 1;
});

async function write(): Promise<void> {
  const { structs: x86_64, enums, constants } = await readHeader("x86_64");
  const { structs: aarch64 } = await readHeader("aarch64");
  const version = await demand("dpkg-query", "--show", "--showformat=${Version}", "libibverbs-dev");
  const text = emit({ x86_64, aarch64, enums, constants }, `libibverbs-dev ${version}`);
  await Deno.writeTextFile(FILE, text);
  console.log("Wrote ffi/layout.ts");
}
