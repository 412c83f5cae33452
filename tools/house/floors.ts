/** The order of the project's folders, and what breaks it. */

import { dirname, join } from "node:path/posix";
import ts from "npm:typescript@5.9.3";

/**
 * The floors, the lowest first: a folder with those in it that are no floor of their own, or a file.
 * Imports run down or stay on a floor.
 */
export const FLOORS = [
  // What the headers fix is below all that needs it.
  ...["internal/runtime.ts", "ffi/layout.ts", "internal"],
  ...["ffi", "ffi/table", "ffi/verbs", "ffi/verbs.ts", "ffi/rdmacm", "ffi/efa", "ffi/thunks"],
  ...["ffi/library", "ffi/library.ts", "ffi/rdmacm.ts", "ffi/efa.ts", "ffi/mod.ts", "wait"],
  ...["types/core", "types/address", "types/device", "types/memory", "types/completion"],
  ...["types/address_handle", "types/work", "types/reply", "types/rss", "types/srq"],
  ...["types/queue_pair", "types/flow", "types/cm"],
  ...["types/provider.ts", "types/efa", "types/providers.ts", "types/testing"],
  ...["mod.ts", "rss.ts", "cm.ts", "efa.ts", "testing.ts"],
  ...["net/shared", "net/ud", "net/efa", "net/rc", "net"],
  ...["cli/shell", "cli/devinfo", "cli/explain", "cli/watch", "cli/peer", "cli/pingpong"],
  ...["cli/doctor", "cli/cm", "cli/perf", "cli"],
  ...["rxe/host", "rxe/files.ts", "rxe/asset.ts", "rxe/guest/kernel.ts", "rxe/guest/parts.ts"],
  ...["rxe/stub", "rxe/guest", "rxe"],
  "examples",
  ...["tools", "tests", "cli/tests", "rxe/tests", "bench"],
] as const;

export type Floor = typeof FLOORS[number];

// These know the library as its users do. net/ shares what is in internal/ and wait/; examples can be copied into other projects.
const USERS: readonly string[] = ["net", "examples"];

/** Packages of their own, and what they import of others. */
const PACKAGES: Readonly<Record<string, RegExp>> = {
  cli: /^(node:|@std\/cli\/|@rdma\/ibverbs(\/|$))/,
  rxe: /^node:/,
};

// The order does not matter among these; nothing else imports them.
const WORKSHOP: readonly Floor[] = ["tools", "tests", "cli/tests", "rxe/tests", "bench"];

// Where @std comes from when its registry cannot be reached.
const ADAPTERS = "tools/std/";

export function floorOf(file: string): Floor | undefined {
  for (let path = file; path !== ""; path = path.slice(0, Math.max(path.lastIndexOf("/"), 0))) {
    const floor = FLOORS.find((floor) => floor === path);
    if (floor !== undefined) return floor;
  }
}

/** What is wrong with the imports of a project, a line each. */
export function faultsOf(graph: Graph): string[] {
  const faults: string[] = [];
  for (const [file, targets] of graph) {
    if (floorOf(file) === undefined) faults.push(`${file} has no place in the order of folders`);
    for (const target of targets) {
      const fault = faultOf(file, target);
      if (fault !== undefined) faults.push(`${file} imports ${target}: ${fault}`);
    }
  }
  const circle = circleIn(new Map([...graph].filter(([file]) => !isWorkshop(file))));
  if (circle !== undefined) faults.push(`circle: ${circle.join(" -> ")}`);
  return faults;
}

/**
 * What a document says of the order of types/ otherwise than {@linkcode FLOORS}, a line each. Its table has the lowest
 * floor first.
 */
export function tableFaults(document: string): string[] {
  const cells = Array.from(document.matchAll(/^\| (`[^|]*)\|/gm), ([, cell]) => cell!);
  const cellFolders = cells.flatMap((cell) =>
    Array.from(cell.matchAll(/`(types\/[\w.]+?)\/?`/g), ([, path]) => path!)
  );
  const floors = FLOORS.filter((floor) => floor.startsWith("types/"));
  const at = floors.findIndex((floor, i) => floor !== cellFolders[i]);
  if (at < 0 && cellFolders.length === floors.length) return [];
  const [needed, found] = at < 0
    ? ["nothing", cellFolders[floors.length]]
    : [floors[at], cellFolders[at]];
  return [`the table of folders has ${found ?? "nothing"} where the order has ${needed}`];
}

function faultOf(file: string, target: string): string | undefined {
  const [floor, below] = [floorOf(file), floorOf(target)];
  if (floor === undefined || isWorkshop(file) || target.startsWith(ADAPTERS)) return undefined;
  const [folder = "", targetFolder] = [floor, target].map((path) => path.split("/")[0]);
  if (Object.hasOwn(PACKAGES, folder) && folder !== targetFolder) {
    return PACKAGES[folder]!.test(target) ? undefined : `${folder} is a package of its own`;
  }
  const isUser = USERS.includes(folder);
  if (below === undefined) {
    const isNode = target.startsWith("node:") && (isUser || folder === "internal");
    const isFree = isNode || folder === "examples";
    return isFree ? undefined : "the library imports nothing but its own files";
  }
  if (isUser && folder !== targetFolder) {
    const isShared = folder === "net" && /^(internal|wait)\//.test(target);
    return isShared || isExported(target) ? undefined : `${folder} imports exported modules only`;
  }
  return FLOORS.indexOf(below) > FLOORS.indexOf(floor) ? `${below} is above ${floor}` : undefined;
}

function isWorkshop(file: string): boolean {
  return WORKSHOP.some((floor) => floor === floorOf(file));
}

function isExported(file: string): boolean {
  return /^(((ffi|net)\/)?mod|rss|cm|efa|testing)\.ts$/.test(file);
}

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
