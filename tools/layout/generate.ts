/** Writes ffi/layout.ts and ffi/layout_types.ts from the installed header, or checks it with `--check`. */

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

const HELP = `Writes ffi/layout.ts and ffi/layout_types.ts from the installed infiniband/verbs.h.

  deno task generate layout [--check]

That takes the compilers of both architectures. With --check it only compares. The exit status is 1
when they differ.
`;

const VALUES = inProject("ffi/layout.ts");
const TYPES = inProject("ffi/layout_types.ts");

await tool(HELP, { check: "flag" }, async ({ check }) => {
  await ensureForLibraryTests();
  if (!check) await write();
  // What was just written is checked too: a constant that depends on the architecture shows only here.
  const texts = {
    values: await Deno.readTextFile(VALUES),
    types: await Deno.readTextFile(TYPES),
  };
  const faults = await findFaults(tableOf(await import(VALUES)), texts);
  if (faults.length === 0) {
    const architectures = (await usableArchitectures()).join(" and ");
    console.log(`ffi/layout.ts matches the installed header on ${architectures}`);
    return 0;
  }
  say(`ffi/layout.ts is of ${sourceOf(texts.values)}; the installed header differs:`);
  for (const fault of faults) say(`  ${fault}`);
  return 1;
});

async function write(): Promise<void> {
  const { structs: x86_64, enums, constants } = await readHeader("x86_64");
  const { structs: aarch64 } = await readHeader("aarch64");
  const version = await demand("dpkg-query", "--show", "--showformat=${Version}", "libibverbs-dev");
  const texts = emit({ x86_64, aarch64, enums, constants }, `libibverbs-dev ${version}`);
  await Deno.writeTextFile(VALUES, texts.values);
  await Deno.writeTextFile(TYPES, texts.types);
  console.log("Wrote ffi/layout.ts and ffi/layout_types.ts");
}
