/** The table of verbs as Markdown. */

import type { Coverage } from "./coverage.ts";
import { KNOWN } from "./known.ts";

const HEAD = `# Verbs

Every public function of \`verbs.h\`, the class or function of this module that offers it, the rdma-core that brought it,
and where a test calls it with success: on a device, which is soft-RoCE or the stub HCA with libmlx4, or on the recording
provider, if neither device has it. A run of all tests fails if that is not so. "up to 13" is rdma-core 13 or older.

\`deno task generate verbs\` writes the names and what offers them. It keeps the last two columns: edit these here.
`;

export function render(all: readonly Coverage[]): string {
  const installed = all.filter(({ isInstalled }) => isInstalled);
  const newer = all.filter(({ isInstalled }) => !isInstalled);
  const sections = [HEAD, table(installed)];
  if (newer.length > 0) {
    sections.push(
      "## Newer than the header of rdma-core 44\n\nThese fail with \`EOPNOTSUPP\` where the installed libibverbs lacks them.\n",
      table(newer),
    );
  }
  return sections.join("\n");
}

function table(rows: readonly Coverage[]): string {
  const lines = rows.map((row) => {
    const { since, testedOn } = KNOWN.get(row.verb) ?? { since: "", testedOn: "a device" };
    return `| \`${row.verb}\` | ${offered(row)} | ${since} | ${testedOn} |`;
  });
  return ["| C function | here | since | tested on |", "| --- | --- | --- | --- |", ...lines, ""]
    .join("\n");
}

function offered({ offeredBy }: Coverage): string {
  if (offeredBy.length > 0) return offeredBy.map((name) => `\`${name}\``).join(", ");
  return "only in `@rdma/ibverbs/ffi`";
}
