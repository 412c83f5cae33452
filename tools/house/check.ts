/**
 * Checks the order of the project's files: who imports whom, who uses unsafe functions or clocks of the runtime, who names a
 * vendor, and how public types declare optional properties.
 */

import { exists } from "../host/setup.ts";
import { sourcesIn } from "../host/paths.ts";
import { clockFaults } from "./clocks.ts";
import { faultsOf, FLOORS, readGraph, tableFaults } from "./floors.ts";
import { optionalFaults } from "./optional.ts";
import { vendorFaults } from "./vendors.ts";

// Also through another name for Deno.
const UNSAFE = /\bDeno\s*\.\s*Unsafe|\bdlopen\b|\bUnsafe(Pointer|PointerView|Callback|FnPointer)\b/;

// Tests and measurements of ffi itself have a reason to.
const MAY_BE_UNSAFE = /^(ffi|tools|bench|(.*\/)?tests)\//;

/** The document whose table shows the order of folders. */
const TABLE = "docs/architecture.md";

/** What is wrong, a line each. */
export function checkHouse(root: string): string[] {
  const folders = FLOORS.map((floor) => floor.replace(/^(ffi|types|net|cli|rxe)\/.*/, "$1"));
  const files = [...new Set(folders)].filter((path) => exists(`${root}/${path}`))
    .flatMap((path) => path.endsWith(".ts") ? [path] : sourcesIn(path, root));
  const texts = new Map(files.map((file) => [file, Deno.readTextFileSync(`${root}/${file}`)]));
  const unsafe = files.filter((file) => UNSAFE.test(texts.get(file)!) && !MAY_BE_UNSAFE.test(file));
  return [
    ...faultsOf(readGraph(texts)),
    ...tableFaults(Deno.readTextFileSync(`${root}/${TABLE}`)).map((fault) => `${TABLE}: ${fault}`),
    ...clockFaults(texts),
    ...optionalFaults(texts),
    ...vendorFaults(texts),
    ...unsafe.map((file) => `${file} uses unsafe functions of Deno, only ffi/ may`),
  ];
}
