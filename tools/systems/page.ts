/** The page of results. */

import { DIFFERENCES } from "../../tests/device/kernels.ts";
import type { Counts } from "../tests/junit.ts";

/** What tests found on one system. */
export interface Row {
  readonly system: string;
  readonly tests: "library" | "device";
  readonly rdmaCore: string;
  readonly glibc: string;
  readonly counts: Counts;
  /** Such as 2026-11-23. */
  readonly date: string;
}

const HEAD = `# Systems

\`deno task long systems\` writes this page. The library tests run with the programs and libraries of
a release of Debian, the device tests in a guest with that kernel.

`;
const COLUMNS = ["tests", "system", "rdma-core", "glibc", "passed", "failed", "left out", "date"];

/** The page with that row in the place of the one of the same system. */
export function pageOf(before: string, row: Row): string {
  const { counts, tests, system, rdmaCore, glibc, date } = row;
  const { passed, failed, ignored } = counts;
  const cells = [tests, system, rdmaCore, glibc, passed, failed, ignored, date].map(String);
  const lines = before.split("\n").filter((line) => /^\| (library|device)/.test(line));
  const others = lines.map(cellsOf).filter((other) => keyOf(other) !== keyOf(cells));
  const order = new Intl.Collator("en", { numeric: true });
  const rows = [...others, cells].sort((a, b) =>
    b[0]!.localeCompare(a[0]!) || order.compare(keyOf(a), keyOf(b))
  );
  const differences = Object.values(DIFFERENCES)
    .map(({ since, what, reason }) => [since, what, reason]);
  return `${HEAD}${tableOf([COLUMNS, ...rows])}
## Kernels

What kernels do otherwise than Linux 6.1:

${tableOf([["since", "what", "reason"], ...differences])}`;
}

/** A row is of its tests, and of its release or the first two numbers of its kernel. */
function keyOf([tests = "", system = ""]: readonly string[]): string {
  return `${tests} ${/^Linux \d+\.\d+|^Debian \w+/.exec(system)?.[0]}`;
}

function cellsOf(line: string): string[] {
  return line.split("|").slice(1, -1).map((cell) => cell.trim());
}

/** A table of Markdown as deno fmt leaves it. */
function tableOf([head = [], ...rows]: readonly (readonly string[])[]): string {
  const widths = head.map((name, i) =>
    Math.max(name.length, 3, ...rows.map((row) => row[i]!.length))
  );
  const line = (cells: readonly string[], fill: string): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i]!, fill)).join(" | ")} |\n`;
  return [line(head, " "), line(head.map(() => ""), "-"), ...rows.map((row) => line(row, " "))]
    .join("");
}
