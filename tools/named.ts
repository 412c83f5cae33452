/** Starts one of the tools that are not for every day: `deno task long NAME` and `deno task generate NAME`. */

import { denoCommand, main, SetupError } from "./host/setup.ts";

/** A tool: its file in this folder, what it does, and arguments that it always has. */
type Tool = readonly [file: string, what: string, ...args: readonly string[]];

const TASKS: Readonly<Record<string, Readonly<Record<string, Tool>>>> = {
  long: {
    aarch64: ["aarch64.ts", "layouts, structs, thunks and calls on aarch64, emulated by qemu"],
    efa: ["efa.ts", "rdma-core's own tests of EFA, on the adapters of the stub HCA"],
    fuzz: [
      "fuzz.ts",
      "generated packets, texts of peers, hostile peers, captures, address handles",
    ],
    hosts: ["hosts.ts", "two guests that share a network; tshark decodes their packets"],
    misuse: ["misuse.ts", "wrong calls of everything public: no crash, no leak, a useful message"],
    mutants: ["mutants.ts", "the tests: how many small defects in the source they notice"],
    rare: [
      "test.ts",
      "tests of projects and commands of the documents; long forms of a few others",
      "--rare",
    ],
    siw: ["siw.ts", "connections over iWARP, in a guest that has a soft-iWARP device"],
    soak: ["soak.ts", "everything at once for an hour: nothing grows, nothing is left"],
    systems: ["systems.ts", "library tests on a release of Debian, or device tests on a kernel"],
    versions: ["deno_versions.ts", "library tests by another version of Deno"],
  },
  generate: {
    errors: ["docs/causes.ts", "the tables of docs/errors.md, from the causes in types/"],
    layout: ["layout/generate.ts", "ffi/layout.ts, from verbs.h"],
  },
};

const [task = "", name, ...args] = Deno.args;
const tools = TASKS[task]!;
const tool = Object.hasOwn(tools, name ?? "") ? tools[name!] : undefined;
if (tool === undefined) {
  await main(() => Promise.resolve(showNames()));
} else {
  // A tool reads its own arguments. In this process it gets the signals that are sent to the task.
  const [file, , ...own] = tool;
  Object.defineProperty(Deno, "args", { value: [...own, ...args] });
  await import(new URL(file, import.meta.url).href);
}

function showNames(): number {
  const lines = Object.entries(tools).map(([name, [, what]]) => `  ${name.padEnd(12)}${what}`);
  console.log(`${denoCommand()} task ${task} NAME [--help] [OPTIONS]\n\n${lines.join("\n")}`);
  if (name === undefined || name === "--help" || name === "-h") return 0;
  throw new SetupError(`"${name}" is none of these`);
}
