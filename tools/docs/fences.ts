/**
 * How the tests run each fence of the documents. Comments before a fence, which readers do not see, say what a test cannot
 * know:
 *
 * - `<!-- peer: NAME -->`: `tests/device/docs/peers/NAME.ts` sends to the program while it runs.
 * - `<!-- varies: A, B -->`: these words of the output differ from run to run.
 */

import { codeIn } from "../host/paths.ts";
import { blocksOf, documents, readDocument } from "./documents.ts";

/**
 * How a fence is run. A program opens no device, opens one or libibverbs, or starts a guest ("project"); of functions, types
 * are checked; commands.ts is about commands; C and Python are there to compare with.
 */
export type Kind = Program | "functions" | "commands" | "output" | "c" | "python" | "not run";
type Program = "host" | "device" | "project";

export interface Fence {
  readonly document: string;
  /** The line of its first word, from 1. */
  readonly line: number;
  /** The nearest heading before it. */
  readonly section: string;
  readonly kind: Kind;
  readonly text: string;
  /** What the comments before it say. */
  readonly marks: Readonly<Record<string, string>>;
  /** What it prints, where the document shows that. */
  readonly output?: Fence;
}

/** Fences that no test runs, and why, by document and section. */
export const NOT_RUN: Readonly<Record<string, string>> = {
  "CONTRIBUTING.md: Add a verb in five steps":
    "a line to write into a table; the verb of the example does not exist",
  "docs/testing.md: In a workflow": "the job runs on GitHub; tests/project runs its two commands",
  "docs/waiting.md: One loop": "a drawing of the loop",
  "mod.ts: ": "the tree of objects, not the output of a program",
};

export function allFences(): Fence[] {
  return documents().flatMap((document) => fencesOf(document, readDocument(document)));
}

/** The fences of a document. Outputs belong to the fence before them. */
export function fencesOf(document: string, words: string): Fence[] {
  const lines = words.split("\n");
  const found: Fence[] = [];
  for (const { language, line, text } of blocksOf(words)) {
    const section = headingBefore(lines, line - 2);
    const marks = marksBefore(lines, line - 2);
    const place = `${document}: ${section}`;
    const isOutput = language === "text" && /\bprints\b/.test(paragraphBefore(lines, line - 2));
    const kind = isOutput ? "output" : kindOf(language, text, place);
    found.push({ document, line, section, kind, text, marks });
  }
  return found.map((fence, i) => {
    const next = found[i + 1];
    const isShown = next?.kind === "output" && next.section === fence.section;
    return isShown ? { ...fence, output: next } : fence;
  });
}

/** The commands of a fence, without their comments. */
export function commandsOf({ text }: Fence): string[] {
  return text.split("\n").map((line) => line.replace(/ +#.*/, "").trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
}

/** What a text differs in from the output that a document shows; undefined if in nothing. */
export function differenceFrom({ text, marks }: Fence, printed: string): string | undefined {
  const varies = marks.varies?.split(/, */).map((word) => RegExp.escape(word)).join("|");
  const parts = varies === undefined ? [text.trim()] : text.trim().split(new RegExp(varies));
  const pattern = parts.map((part) => RegExp.escape(part)).join("\\S+");
  if (new RegExp(`^${pattern}$`).test(printed.trim())) return undefined;
  return `the document shows:\n${text}it printed:\n${printed}`;
}

function kindOf(language: string, text: string, place: string): Kind {
  if (place in NOT_RUN && !/^(ts|sh)$/.test(language)) return "not run";
  if (language === "sh") return "commands";
  if (language === "c" || language === "python") return language;
  if (language !== "ts") throw new Error(`${place}: nothing runs a fence of "${language}"`);
  if (/from "@rdma\/rxe"/.test(text)) return "project";
  if (OPENS_LIBRARY.test(text)) return "device";
  return STATEMENT.test(text) ? "host" : "functions";
}

const OPENS_LIBRARY =
  /^\S.*(Context\.open|listDevices|rateToMbps|verbs|getAddrInfo|(listen|connect)(Ud|Rc)|runCli)\(/m;

/** A line that does something; declarations alone do nothing. */
const STATEMENT =
  /^(import "|(?!import|export|async function|function|interface|type|const \w+ = [^(]*$)[a-z])/m;

function headingBefore(lines: readonly string[], index: number): string {
  const before = lines.slice(0, index).findLast((line) => /^#{1,6} /.test(line));
  return before?.replace(/^#+ /, "") ?? "";
}

/** The lines of the nearest paragraph. Comments and empty lines in between are skipped. */
function paragraphBefore(lines: readonly string[], index: number): string {
  const isGap = (line: string): boolean => line.trim() === "" || /^ *<!--.*-->$/.test(line);
  const end = lines.slice(0, index).findLastIndex((line) => !isGap(line)) + 1;
  const start = lines.slice(0, end).findLastIndex(isGap) + 1;
  return lines.slice(start, end).join("\n");
}

function marksBefore(lines: readonly string[], index: number): Record<string, string> {
  const marks: Record<string, string> = {};
  for (let i = index - 1; i >= 0; i--) {
    const mark = /^ *<!-- (\w+): (.*) -->$/.exec(lines[i]!);
    if (mark !== null) marks[mark[1]!] = mark[2]!;
    else if (lines[i]!.trim() !== "") break;
  }
  return marks;
}

/** The fences in the comments of the library, the examples of its pages. */
export function exampleFences(): Fence[] {
  const folders = ["cli", "ffi", "internal", "net", "rxe", "types"];
  const files = [
    "mod.ts",
    "rss.ts",
    "cm.ts",
    "efa.ts",
    "testing.ts",
    ...folders.flatMap((name) => codeIn(name)),
  ];
  return files.flatMap((file) => {
    const lines = readDocument(file).split("\n");
    const comments = lines.map((line) => /^ *\* ?(.*)$/.exec(line)?.[1] ?? "");
    return fencesOf(file, comments.join("\n"));
  });
}

/** The modules whose examples run on any host, by their paths from the project's folder. */
export function modulesWithoutDevice(): string[] {
  const all = exampleFences().filter(({ kind }) => kind !== "not run");
  const elsewhere = all.filter(({ kind }) => kind !== "host" && kind !== "functions");
  const left = new Set(elsewhere.map(({ document }) => document));
  return [...new Set(all.map(({ document }) => document))].filter((name) => !left.has(name));
}
