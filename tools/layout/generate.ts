/**
 * Writes ffi/layout.ts and ffi/layout_types.ts from the installed header, or checks it with `--check`.
 *
 * @module
 */
import { findFaults, sourceOf, usableToolchains } from "./check.ts";
import { emit } from "./emit.ts";
import { tableOf } from "./model.ts";
import { readHeader } from "./read.ts";
import { run, toolchainFor } from "./toolchain.ts";

const usage = `Usage: deno task generate layout [-- --check]

Writes ffi/layout.ts and ffi/layout_types.ts from the installed infiniband/verbs.h, which
takes the compilers of both architectures, and compares the two. With --check it only compares. The exit
status is 1 when they differ.`;

const values = new URL("../../ffi/layout.ts", import.meta.url);
const types = new URL("../../ffi/layout_types.ts", import.meta.url);

async function write(): Promise<void> {
  const { structs: x86_64, enums, constants } = await readHeader(toolchainFor("x86_64"));
  const { structs: aarch64 } = await readHeader(toolchainFor("aarch64"));
  const version = await run("dpkg-query", ["--show", "--showformat=${Version}", "libibverbs-dev"]);
  const texts = emit({ x86_64, aarch64, enums, constants }, `libibverbs-dev ${version}`);
  await Deno.writeTextFile(values, texts.values);
  await Deno.writeTextFile(types, texts.types);
  console.log("Wrote ffi/layout.ts and ffi/layout_types.ts");
}

async function check(): Promise<boolean> {
  const texts = {
    values: await Deno.readTextFile(values),
    types: await Deno.readTextFile(types),
  };
  const faults = await findFaults(tableOf(await import(values.href)), texts);
  const architectures = (await usableToolchains()).map(({ arch }) => arch).join(" and ");
  if (faults.length === 0) {
    console.log(`ffi/layout.ts matches the installed header on ${architectures}`);
    return true;
  }
  console.error(`ffi/layout.ts is of ${sourceOf(texts.values)}; the installed header differs:`);
  for (const fault of faults) console.error(`  ${fault}`);
  return false;
}

async function main(args: readonly string[]): Promise<number> {
  // A task runner may pass its own separator on.
  const [option, ...more] = args.filter((arg) => arg !== "--");
  if (more.length > 0 || (option !== undefined && option !== "--check")) {
    console.log(usage);
    return option === "--help" ? 0 : 2;
  }
  if (option === undefined) await write();
  // What was just written is checked too: a constant that depends on the architecture shows only here.
  return await check() ? 0 : 1;
}

try {
  Deno.exitCode = await main(Deno.args);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  Deno.exitCode = 1;
}
