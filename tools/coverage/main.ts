/**
 * Writes `docs/verbs.md`: what offers each verb. Fails if a verb is not bound, or
 * not offered. Whether tests call it is judged when all tests run: see `called.ts`.
 */

import { demand, ensurePackages, type Need, say } from "../host/setup.ts";
import { project } from "../host/paths.ts";
import { type Coverage, DEVICE, KNOWN, readCoverage } from "./coverage.ts";
import { tool } from "../host/tool.ts";

const HELP = `Compares verbs.h with the tables of verbs and the classes.

  deno task generate verbs [OPTIONS]

  --check         change nothing; fail if docs/verbs.md is not up to date
`;

const DOCUMENT = `${project}/docs/verbs.md`;

const HEAD = `# Verbs

Every public function of \`verbs.h\` up to rdma-core 65, the class or function of this module that offers it, the rdma-core that brought it,
and where a test calls it with success: on a device, which is soft-RoCE or the stub HCA with libmlx4, or on the recording
provider, if neither device has it. What needs a newer kernel than Linux 6.1 is tested on both. A run of all tests fails if that is not so. "up to 13" is rdma-core 13 or older.
A function that the installed libibverbs lacks fails with EOPNOTSUPP.

\`deno task generate verbs\` writes the names and what offers them. It keeps the last two columns: edit these here.
`;

const reason = "verbs.h is read with its preprocessor";
const NEEDS: Need[] = [
  { package: "gcc", file: "/usr/bin/gcc", reason },
  { package: "libc6-dev", file: "/usr/include/stdio.h", reason },
  { package: "libibverbs-dev", file: "/usr/include/infiniband/verbs.h", reason },
];

await tool(HELP, { check: "flag" }, async ({ check }) => {
  await ensurePackages(NEEDS);
  const all = await readCoverage();
  const faults = all.flatMap(faultsOf);
  const document = await formatted(`${HEAD}\n${table(all)}`);
  if (!check) await Deno.writeTextFile(DOCUMENT, document);
  else if (document !== await Deno.readTextFile(DOCUMENT)) {
    faults.push("docs/verbs.md is not up to date: deno task generate verbs writes it");
  }
  faults.forEach((fault) => say(`error: ${fault}`));
  printTotals(all);
  return faults.length === 0 ? 0 : 1;
});

function table(rows: readonly Coverage[]): string {
  const lines = rows.map(({ verb, offeredBy }) => {
    const { since, testedOn } = KNOWN.get(verb) ?? { since: "", testedOn: DEVICE };
    const here = offeredBy.map((name) => `\`${name}\``).join(", ") || "only in `@rdma/ibverbs/ffi`";
    return `| \`${verb}\` | ${here} | ${since} | ${testedOn} |\n`;
  });
  return `| C function | here | since | tested on |\n| --- | --- | --- | --- |\n${lines.join("")}`;
}

async function formatted(markdown: string): Promise<string> {
  const file = await Deno.makeTempFile({ suffix: ".md" });
  try {
    await Deno.writeTextFile(file, markdown);
    await demand(Deno.execPath(), "fmt", "--quiet", `--config=${project}/deno.json`, file);
    return await Deno.readTextFile(file);
  } finally {
    await Deno.remove(file);
  }
}

function faultsOf({ verb, isBound, offeredBy }: Coverage): string[] {
  return [
    ...!KNOWN.get(verb)?.since ? [`${verb}: say in docs/verbs.md since when it is there`] : [],
    ...!isBound ? [`${verb} is not bound`] : [],
    ...offeredBy.length === 0 ? [`${verb} is not typed: no class or function offers it`] : [],
  ];
}

function printTotals(rows: readonly Coverage[]): void {
  const bound = rows.filter(({ isBound }) => isBound);
  const typed = rows.filter(({ offeredBy }) => offeredBy.length > 0);
  console.log(`\n${bound.length} of ${rows.length} bound, ${typed.length} typed`);
}
