/** Finds files of the library that name a vendor outside of its folders. */

import { isBetween } from "./library.ts";

interface Vendor {
  readonly name: string;
  /** What names it, in code and in comments. */
  readonly words: RegExp;
  /** The files that may: a folder on each layer that needs one, and files of that name. */
  readonly folders: RegExp;
}

const VENDORS: readonly Vendor[] = [
  {
    name: "Elastic Fabric Adapters",
    words:
      /Elastic Fabric|(?<![A-Za-z])(lib)?efa(dv)?(?![a-z])|Efa(?![a-z])|EFA(?![A-Z])|(?<![A-Za-z])srd(?![a-z])|Srd(?![a-z])|SRD(?![A-Z])/,
    folders: /(^|\/)efa(\/|\.ts$)/,
  },
];

/** Where the rows of all vendors are, and the page of an exported module. */
const ROWS = /^((types|net)\/providers|net\/mod)\.ts$/;

/**
 * Where files name a vendor outside of its folders, a line each. The unsafe code, which has the tables of their C functions, and
 * the exported modules may.
 */
export function vendorFaults(texts: ReadonlyMap<string, string>): string[] {
  const core = Array.from(texts).filter(([file]) => isBetween(file) && !ROWS.test(file));
  return VENDORS.flatMap(({ name, words, folders }) =>
    core.filter(([file]) => !folders.test(file)).flatMap(([file, text]) =>
      text.split("\n").flatMap((line, i) => {
        const [word] = line.match(words) ?? [];
        return word === undefined
          ? []
          : [`${file}:${i + 1} says ${word}: ${name} have folders of their own`];
      })
    )
  );
}
