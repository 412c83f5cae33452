/** Checks form, types, documentation, order and verbs of the whole project, and that it could be published. */

import { faultsOfVerbs } from "./coverage/coverage.ts";
import { stdArguments } from "./host/jsr.ts";
import { documents } from "./docs/documents.ts";
import { modulesWithoutDevice } from "./docs/fences.ts";
import { project } from "./host/paths.ts";
import { capture, type Finished, lastLines, say } from "./host/setup.ts";
import { checkHouse } from "./house/check.ts";
import { tool } from "./host/tool.ts";
import { dryRun } from "./package/dry_run.ts";
import { PACKAGES, sourcesOf } from "./package/packages.ts";
import { ensureForLibraryTests } from "./tests/of_library.ts";

const HELP = `Checks the whole project, and changes nothing.

  deno task check [--help]

form            deno fmt --check, deno lint
types           deno check, of modules, examples and documents
documentation   deno doc --lint, of mod.ts with ffi/mod.ts, and of the exports of each
                package together; deno test --doc, of examples that need no device
publishing      deno publish --dry-run, of the three packages
order           imports run down from floor to floor, without a circle;
                only ffi/ uses unsafe functions of Deno, only the folders of a
                vendor name it; optional properties of public types permit
                undefined
verbs           every verb is bound, offered by a class and tested
`;

// Prepared requests have an address, so that FFI is allowed. No example without a device calls a verb.
const DOC_TEST = ["--doc", "--no-check", "--allow-ffi", "--reporter=dot"];

interface Result {
  readonly good: boolean;
  readonly text: string;
}

await tool(HELP, {}, async () => {
  // Two of the checks compile C: both would install what it needs, at once.
  await ensureForLibraryTests();
  const std = await stdArguments();
  // All at once: each is one process, of one thread for most of its time.
  const checks: Readonly<Record<string, Promise<Result>>> = {
    "deno fmt": deno("fmt", "--check"),
    "deno lint": deno("lint"),
    "deno check": deno("check", "--doc", ...std, ".", ...documents()),
    "deno doc --lint": documentation(),
    "deno test --doc": deno("test", ...DOC_TEST, ...std, ...modulesWithoutDevice()),
    "deno publish --dry-run": dryRun(project).then(resultOf),
    "order: imports run down": Promise.try(() => resultOfFaults(checkHouse(project))),
    "verbs: bound, typed": faultsOfVerbs().then(resultOfFaults),
  };
  const failed: string[] = [];
  for (const [name, check] of Object.entries(checks)) {
    say(`\n== ${name}`);
    const { good, text } = await check;
    if (text.trim() !== "") say(text.trim());
    if (!good) failed.push(name);
  }
  say(failed.length === 0 ? "\nall checks pass" : `\nfailed: ${failed.join(", ")}`);
  return failed.length === 0 ? 0 : 1;
});

/** Checks that the pages have all that their signatures name: native handles are in ./ffi, all else of mod.ts in mod.ts. */
async function documentation(): Promise<Result> {
  const pages = [["mod.ts", "ffi/mod.ts"], ...PACKAGES.map(sourcesOf)];
  const results = await Promise.all(pages.map((sources) => deno("doc", "--lint", ...sources)));
  return results.find(({ good }) => !good) ?? results.at(-1)!;
}

async function deno(...args: string[]): Promise<Result> {
  return resultOf(await capture(Deno.execPath(), ...args));
}

function resultOf({ status, stdout, stderr }: Finished): Result {
  const text = stdout + stderr;
  // Deno names each file that it checks: only the last line of a check that passes is worth showing.
  return { good: status === 0, text: status === 0 ? lastLines(text, 1) : text };
}

function resultOfFaults(faults: readonly string[]): Result {
  return { good: faults.length === 0, text: faults.map((fault) => `error: ${fault}`).join("\n") };
}
