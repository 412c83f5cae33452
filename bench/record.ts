/** What a complete run writes: bench/RESULTS.md, and the table of README.md. */

import { inProject, project } from "../tools/host/paths.ts";
import { type Result, valuesOf } from "./measurement.ts";
import { ROWS, SUMMARY } from "./rows.ts";
import type { StageOutput } from "./stage.ts";
import { judge, median } from "./statistics.ts";
import { duration, table } from "./table.ts";

/** Stages, by their titles. */
type Outputs = ReadonlyMap<string, StageOutput>;

export async function record(outputs: Outputs): Promise<void> {
  const args = ["-C", project, "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+"];
  const { stdout } = await new Deno.Command("git", { args }).output();
  const [page, readme] = [inProject("bench/RESULTS.md"), inProject("README.md")];
  await Deno.writeTextFile(page, markdown(new TextDecoder().decode(stdout).trim(), outputs));
  const results = [...outputs.values()].flatMap(({ results }) => results);
  await Deno.writeTextFile(readme, withSummary(await Deno.readTextFile(readme), results));
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "-q", page, readme] }).output();
}

/** The table of eight rows stands between a comment and the next paragraph. */
const PLACE = /(?<=<!-- speed: written by deno task bench -->\n\n)\|.*?\n(?=\n)/s;

/** Puts the medians of some rows into the README. */
export function withSummary(readme: string, results: readonly Result[]): string {
  const names = ["C", "Deno", "pyverbs"];
  const lines = ROWS.filter(({ id }) => SUMMARY.includes(id)).flatMap(({ id, title }) => {
    const result = results.find((result) => result.id === id);
    if (result === undefined) return [];
    const cells = names.map((who) => duration(median(valuesOf(result, who))));
    return `| ${[title, ...cells].join(" | ")} |\n`;
  });
  if (!PLACE.test(readme)) throw new Error("Cannot write results: README.md lacks their place");
  const head = "| work | C | this library | pyverbs |\n| --- | ---: | ---: | ---: |\n";
  return readme.replace(PLACE, () => head + lines.join(""));
}

/** The page of a run. A commit ends with "+" if files differ from it. */
export function markdown(commit: string, outputs: Outputs): string {
  const sections = [...outputs].map(([title, { conditions, results }]) =>
    `## ${title}\n\n${conditions}\n\n\`\`\`text\n${table(results)}\n\`\`\`\n`
  );
  return `# Results

The same work in C, with this library and with pyverbs, in paired rounds.
[How it is measured](README.md). \`deno task bench\` writes this page.

Measured on ${new Date().toISOString().slice(0, 10)} at commit ${commit}. Goals: ${count(outputs)}.
In brackets: the interval in which the median lies with a probability of at least 95 %.

${sections.join("\n")}`;
}

function count(outputs: Outputs): string {
  const all = [...outputs.values()].flatMap(({ results }) =>
    results.flatMap((result) => {
      const goals = ROWS.find(({ id }) => id === result.id)?.goals ?? [];
      return goals.map((goal) => judge(goal, result).outcome);
    })
  );
  return ["met", "missed", "within noise", "shown"].map((outcome) =>
    `${all.filter((each) => each === outcome).length} ${outcome}`
  ).join(", ");
}
