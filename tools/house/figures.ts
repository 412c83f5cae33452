/**
 * Counts what makes the house hard to read. Each figure has a limit, so that it can only fall:
 * `deno task check` fails above it. Run as a program it also tells what was counted.
 */

import { say } from "../../rxe/host/report.ts";
import { exists } from "../../rxe/host/shell.ts";
import { inProject, project, projectFiles, sourcesIn } from "../host/paths.ts";
import type { Findings } from "./check.ts";
import { clonesIn } from "./clones.ts";
import { countsOf } from "./syntax.ts";
import { readTrails } from "./trail.ts";

export interface Figure {
  readonly name: string;
  readonly value: number;
  /** What was counted, but for lines. */
  readonly of?: readonly string[];
}

/** The most that each figure may be now, and the most that is wanted. */
const LIMITS: Readonly<Record<string, readonly [limit: number, goal: number]>> = {
  "names of mod.ts": [175, 180],
  "files that a wrId passes to ibv_post_send": [5, 5],
  "files that an sgidIndex passes to ibv_create_ah": [6, 7],
  "assigned functions": [11, 15],
  "import * as": [0, 0],
  "struct writers beside the codec": [5, 0],
  "clones of six lines": [0, 0],
  "lines of the library": [28_075, 27_000],
  "lines of tests": [43_550, 43_000],
  "lines of tools": [9_200, 8_450],
  "lines of all files": [104_025, 103_000],
};

const LIBRARY = ["types", "ffi", "net", "cli", "internal"];

const GENERATED = /^ffi\/layout\.ts$|^bench\/.*\.(json|svg)$/;
/** The codec, and what it is made of. */
const CODEC = /^(ffi\/|types\/core\/attributes\.ts$)/;

export async function figures(): Promise<Figure[]> {
  const folders = LIBRARY.filter((folder) => exists(inProject(folder)));
  const [trails, clones, lines] = await Promise.all([
    readTrails(),
    clonesIn(project, folders),
    lineFigures(),
  ]);
  const files = folders.flatMap((folder) => sourcesIn(folder));
  const counts = [...files, "mod.ts"].map((file) => ({
    file,
    ...countsOf(Deno.readTextFileSync(inProject(file))),
  }));
  const figure = (
    name: string,
    key: "exports" | "assigned" | "namespaces" | "writers",
    isMeant: (file: string) => boolean = () => true,
  ): Figure => {
    const meant = counts.filter((count) => isMeant(count.file) && count[key] > 0);
    const value = meant.reduce((sum, count) => sum + count[key], 0);
    return { name, value, of: meant.map((count) => `${count.file} ${count[key]}`) };
  };
  const { wrId, sgidIndex } = trails;
  return [
    figure("names of mod.ts", "exports", (file) => file === "mod.ts"),
    { name: "files that a wrId passes to ibv_post_send", value: wrId.length, of: wrId },
    {
      name: "files that an sgidIndex passes to ibv_create_ah",
      value: sgidIndex.length,
      of: sgidIndex,
    },
    figure("assigned functions", "assigned"),
    figure("import * as", "namespaces"),
    figure("struct writers beside the codec", "writers", (file) => !CODEC.test(file)),
    { name: "clones of six lines", value: clones.length, of: clones },
    ...lines,
  ];
}

async function lineFigures(): Promise<Figure[]> {
  const counts = new Map<string, number>();
  const add = (name: string, lines: number): void => {
    counts.set(name, (counts.get(name) ?? 0) + lines);
  };
  for (const file of await projectFiles()) {
    const lines = Deno.readTextFileSync(inProject(file)).split("\n").length - 1;
    const [folder = ""] = file.split("/");
    add("lines of all files", lines);
    if (GENERATED.test(file)) continue;
    add(`lines of ${folder}`, lines);
    if (LIBRARY.includes(folder)) add("lines of the library", lines);
  }
  return [...counts].map(([name, value]) => ({ name, value }))
    .filter(({ name }) => Object.hasOwn(LIMITS, name));
}

/** The figures as lines, and those that are above their limits. */
export function judge(
  found: readonly Figure[],
  limits: typeof LIMITS = LIMITS,
): Findings {
  const lines: string[] = [];
  const faults: string[] = [];
  for (const [name, [limit, goal]] of Object.entries(limits)) {
    const figure = found.find((figure) => figure.name === name);
    if (figure === undefined) continue;
    const { value, of = [] } = figure;
    lines.push(`${name.padEnd(49)}${String(value).padStart(7)}  at most ${limit}, goal ${goal}`);
    if (value > limit) faults.push([`${name}: ${value}, at most ${limit}`, ...of].join("\n  "));
  }
  return { lines, faults };
}

if (import.meta.main) {
  const found = await figures();
  for (const { name, of = [] } of found) say([name, ...of].join("\n  "));
  const { lines, faults } = judge(found);
  say(["", ...lines, ...faults].join("\n"));
  Deno.exitCode = faults.length === 0 ? 0 : 1;
}
