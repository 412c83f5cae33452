/**
 * Counts what makes the house hard to read. Each figure has a limit, so that it can only fall:
 * `deno task check` fails above it. Run as a program it also tells what was counted.
 */

import { say } from "../../rxe/host/report.ts";
import { inProject, project, projectFiles, sourcesIn } from "../host/paths.ts";
import type { Findings } from "./check.ts";
import { clonesIn } from "./clones.ts";
import { type Counts, countsOf } from "./syntax.ts";
import { readTrails } from "./trail.ts";

export interface Figure {
  readonly name: string;
  readonly value: number;
  /** What was counted, but for lines. */
  readonly of?: readonly string[];
}

/** The most that each figure may be now, and the most that is wanted. */
const LIMITS: Readonly<Record<string, readonly [limit: number, goal: number]>> = {
  "names of mod.ts": [196, 180],
  "files that a wrId passes to ibv_post_send": [5, 5],
  "files that an sgidIndex passes to ibv_create_ah": [6, 7],
  "assigned functions": [11, 15],
  "import * as": [0, 0],
  "struct writers beside the codec": [0, 0],
  "clones of six lines": [0, 0],
  "lines of the library": [37_350, 27_000],
  "lines of tests": [55_780, 43_000],
  "lines of tools": [9_810, 8_450],
  "lines of all files": [129_470, 103_000],
};

const LIBRARY = ["types", "ffi", "net", "cli", "internal"];

const GENERATED = /^ffi\/layout\.ts$|^bench\/.*\.(json|svg)$/;
/** The codec, and what it is made of. */
const CODEC = /^(ffi\/|types\/core\/attributes\.ts$)/;

export async function figures(): Promise<Figure[]> {
  const [{ wrId, sgidIndex }, clones, lines] = await Promise.all([
    readTrails(),
    clonesIn(project, LIBRARY),
    lineFigures(),
  ]);
  const files = [...LIBRARY.flatMap((folder) => sourcesIn(folder)), "mod.ts"];
  const sum = (name: string, key: keyof Counts, meant: readonly string[]): Figure => {
    const counts = meant.map((file) => [file, countsOf(readSource(file))[key]] as const)
      .filter(([, count]) => count > 0);
    const value = counts.reduce((sum, [, count]) => sum + count, 0);
    return { name, value, of: counts.map((count) => count.join(" ")) };
  };
  const list = (name: string, of: readonly string[]): Figure => ({ name, value: of.length, of });
  return [
    sum("names of mod.ts", "exports", ["mod.ts"]),
    list("files that a wrId passes to ibv_post_send", wrId),
    list("files that an sgidIndex passes to ibv_create_ah", sgidIndex),
    sum("assigned functions", "assigned", files),
    sum("import * as", "namespaces", files),
    sum("struct writers beside the codec", "writers", files.filter((file) => !CODEC.test(file))),
    list("clones of six lines", clones),
    ...lines,
  ];
}

function readSource(file: string): string {
  return Deno.readTextFileSync(inProject(file));
}

async function lineFigures(): Promise<Figure[]> {
  const counts = new Map<string, number>();
  const add = (name: string, lines: number): void => {
    counts.set(name, (counts.get(name) ?? 0) + lines);
  };
  // Nobody reads the list of packages and their hashes that Deno writes.
  for (const file of (await projectFiles()).filter((file) => !file.endsWith(".lock"))) {
    const lines = readSource(file).split("\n").length - 1;
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
