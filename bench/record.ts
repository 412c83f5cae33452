/** What a complete run writes: bench/RESULTS.md, and the table of README.md. */

import { inProject, project } from "../tools/host/paths.ts";
import { type Result, valuesOf } from "./measurement.ts";
import { type Stage, STAGES } from "./row.ts";
import { ROWS, SUMMARY, type Summary } from "./rows.ts";
import type { StageOutput } from "./stage.ts";
import { judge, median } from "./statistics.ts";
import { comparison, quantity, table } from "./table.ts";

type Outputs = ReadonlyMap<Stage, StageOutput>;

export async function record(outputs: Outputs, many: string): Promise<void> {
  const args = ["-C", project, "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+"];
  const { stdout } = await new Deno.Command("git", { args }).output();
  const [page, readme] = [inProject("bench/RESULTS.md"), inProject("README.md")];
  await Deno.writeTextFile(page, markdown(new TextDecoder().decode(stdout).trim(), outputs, many));
  await Deno.writeTextFile(readme, withSummary(await Deno.readTextFile(readme), outputs));
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "-q", page, readme] }).output();
}

/** The tables of the README stand between a comment and the link to this page. */
const PLACE = /(?<=<!-- speed: written by deno task bench -->\n\n).*?(?=\[All rows\])/s;

const COLUMNS: readonly (readonly [title: string, contenders: readonly string[]])[] = [
  ["C", ["C"]],
  ["this library", ["Deno"]],
  ["pyverbs", ["pyverbs"]],
  ["sockets of Deno", ["Deno.listenDatagram", "Deno.connect"]],
];

/** Puts the medians of some rows into the README, a table for each stage. */
export function withSummary(readme: string, outputs: Outputs): string {
  if (!PLACE.test(readme)) throw new Error("Cannot write results: README.md lacks their place");
  const tables = [...outputs].map(([stage, { results }]) => {
    const rows = SUMMARY.flatMap((summary) => {
      const result = results.find(({ id }) => id === summary.id);
      return result === undefined ? [] : [cellsOf(summary, result)];
    });
    const columns = [0, ...COLUMNS.map((_, i) => i + 1)].filter((i) => rows.some((row) => row[i]));
    const head = ["work", ...COLUMNS.map(([title]) => title)];
    const rule = ["---", ...COLUMNS.map(() => "---:")];
    const lines = [head, rule, ...rows].map((cells) =>
      `| ${columns.map((i) => cells[i]).join(" | ")} |\n`
    );
    return rows.length === 0
      ? ""
      : `**${STAGES[stage].title}.** ${STAGES[stage].about}\n\n${lines.join("")}\n`;
  });
  return readme.replace(PLACE, () => tables.join(""));
}

/** The title, and the value of each column: empty if nobody of it measured the row. */
function cellsOf({ id, title, library = "Deno" }: Summary, result: Result): string[] {
  const row = ROWS.find((row) => row.id === id)!;
  const cells = COLUMNS.map(([, contenders]) => {
    const names = contenders.map((name) => name === "Deno" ? library : name);
    const who = names.find((name) => name in result.rounds[0]!);
    return who === undefined ? "" : quantity(median(valuesOf(result, who)), row.shown);
  });
  return [title ?? row.title, ...cells];
}

/** The page of a run. A commit ends with "+" if files differ from it. */
export function markdown(commit: string, outputs: Outputs, many: string): string {
  const sections = [...outputs].map(([stage, { conditions, results }]) => {
    const { title, about } = STAGES[stage];
    return `## ${title}\n\n${about}\n\n${conditions}\n\n\`\`\`text\n${table(results)}\n\`\`\`\n`;
  });
  return `# Results

The same work in C, with this library and with pyverbs, in paired rounds.
[How it is measured](README.md). \`deno task bench\` writes this page.

Measured on ${new Date().toISOString().slice(0, 10)} at commit ${commit}. Goals: ${count(outputs)}.
No stage measures an adapter: each says what it is.
In brackets: the interval in which the median lies with a probability of at least 95 %.

${sections.join("\n")}
${besideOld(outputs)}## Many connections

One server of connections (RC) by shared memory, one client that calls it, and so many that are idle.
The figures of memory are those of the server.

\`\`\`text
${many}
\`\`\`
`;
}

/** Nothing if no old package was measured. */
function besideOld(outputs: Outputs): string {
  const results = [...outputs.values()].flatMap(({ results }) => results)
    .filter(({ rounds }) => Object.keys(rounds[0]!).some((who) => who.endsWith(", old")));
  if (results.length === 0) return "";
  return `## Beside an older package

The same programs with a package that was built before, in the same rounds. SLOWER: by more than 5 %.

\`\`\`text
${comparison(results)}
\`\`\`

`;
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
