/** The project's documents: their blocks of code, and their links. */

import { exists } from "../host/setup.ts";
import { inProject, project } from "../host/paths.ts";

const FOLDERS = [".", "docs", "examples", "cli", "rxe"];

export interface Snippet {
  readonly document: string;
  /** The line of its first word, from 1. */
  readonly line: number;
  readonly text: string;
}

/** The documents, by their paths from the project's folder. */
export function documents(): string[] {
  const here = (folder: string): string[] =>
    [...Deno.readDirSync(inProject(folder))].filter(({ name }) => name.endsWith(".md"))
      .map(({ name }) => folder === "." ? name : `${folder}/${name}`);
  return FOLDERS.flatMap(here).sort();
}

export function readDocument(document: string): string {
  return Deno.readTextFileSync(inProject(document));
}

/** Writes snippets as files into a new folder in the project, where the name of the package means its sources. */
export async function writeSnippets(
  snippets: readonly Snippet[],
): Promise<AsyncDisposable & { readonly files: readonly string[] }> {
  Deno.mkdirSync(inProject(".cache"), { recursive: true });
  const folder = await Deno.makeTempDir({ dir: inProject(".cache"), prefix: "snippets-" });
  const files = snippets.map(({ document, line, text }) => {
    const file = `${folder}/${document.replaceAll("/", "_")}_${line}.ts`;
    Deno.writeTextFileSync(file, text);
    return file;
  });
  return {
    files,
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

/** The targets of links, such as `rss.md#providers`. Links to other hosts are left out. */
export function linksOf(text: string): string[] {
  const links = /\]\((?![a-z]+:)([^)\s]+)\)/g;
  return proseOf(text).flatMap((line) =>
    Array.from(line.replace(/`[^`]*`/g, "").matchAll(links), ([, target]) => target!)
  );
}

/** Why a link leads nowhere; undefined if it leads somewhere. */
export function faultOf(document: string, target: string): string | undefined {
  const [path, heading] = target.split("#") as [string, string?];
  const base = new URL(document, `file://${project}/`);
  const file = path === "" ? base.pathname : new URL(path, base).pathname;
  if (!exists(file)) return `there is no ${file.replace(`${project}/`, "")}`;
  if (heading === undefined || !file.endsWith(".md")) return undefined;
  const anchors = anchorsOf(Deno.readTextFileSync(file));
  return anchors.includes(heading) ? undefined : `there is no heading "${heading}"`;
}

/** The anchors that GitHub and JSR give to headings. */
function anchorsOf(text: string): string[] {
  const counts = new Map<string, number>();
  const headings = proseOf(text).map((line) => /^#{1,6} (.*)$/.exec(line)?.[1]);
  return headings.filter((heading) => heading !== undefined).map((heading) => {
    const name = heading.toLowerCase().trim().replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-");
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    return count === 0 ? name : `${name}-${count}`;
  });
}

/** The lines of a text. Those of blocks are empty. */
function proseOf(text: string): string[] {
  return blocksOf(text).reduce(
    (all, { line, lines }) => all.fill("", line - 2, line + lines),
    text.split("\n"),
  );
}

/** A block between fences. */
export interface Block {
  /** The words after the opening fence. */
  readonly language: string;
  /** The line of its first word, from 1. */
  readonly line: number;
  readonly lines: number;
  readonly text: string;
}

export function blocksOf(text: string): Block[] {
  const fences = /^ {0,3}```(.*)\n([^]*?)^ {0,3}```.*$/gm;
  return Array.from(text.matchAll(fences), ({ index, 1: language = "", 2: words = "" }) => ({
    language: language.trim(),
    line: text.slice(0, index).split("\n").length + 1,
    lines: words.split("\n").length - 1,
    text: words,
  }));
}
