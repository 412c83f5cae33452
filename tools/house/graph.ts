/** Which file of a project imports which, types and values alike. */

import { dirname, join } from "node:path/posix";
import ts from "npm:typescript@5.9.3";

/** For each file what it imports: files as paths from the project's folder, all else as it is written. */
export type Graph = ReadonlyMap<string, readonly string[]>;

/** Reads the imports in the texts of files. */
export function readGraph(texts: ReadonlyMap<string, string>): Graph {
  return new Map(Array.from(texts, ([file, text]) => {
    const names = ts.preProcessFile(text).importedFiles.map(({ fileName }) => fileName);
    const inProject = (name: string): string =>
      name.startsWith(".") ? join(dirname(file), name) : name;
    return [file, [...new Set(names.map(inProject))]];
  }));
}

/** A circle of imports that leads from a file back to it, if there is one. */
export function circleIn(graph: Graph): string[] | undefined {
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (file: string): string[] | undefined => {
    const start = trail.indexOf(file);
    if (start >= 0) return [...trail.slice(start), file];
    if (done.has(file)) return undefined;
    done.add(file);
    trail.push(file);
    for (const target of graph.get(file) ?? []) {
      const circle = visit(target);
      if (circle !== undefined) return circle;
    }
    trail.pop();
  };
  for (const file of graph.keys()) {
    const circle = visit(file);
    if (circle !== undefined) return circle;
  }
}
