/** Places of the library with the same logic, as jscpd finds them. */

import { demand } from "../../rxe/host/shell.ts";
import { LOCK } from "../host/paths.ts";

const DETECTOR = "npm:jscpd@4.0.5";
const LINES = 6;
/** Six lines of few words, such as a list of names, are no logic. */
const TOKENS = 35;

interface Place {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

interface Clone {
  readonly fragment: string;
  readonly firstFile: Place;
  readonly secondFile: Place;
}

/** Pairs of places in some folders that share six lines of code or more. */
export async function clonesIn(root: string, folders: readonly string[]): Promise<string[]> {
  const output = await Deno.makeTempDir();
  try {
    const limits = ["--min-lines", `${LINES}`, "--min-tokens", `${TOKENS}`, "--mode", "weak"];
    const reports = ["--reporters", "json", "--silent", "--absolute", "--output", output];
    const paths = folders.map((folder) => `${root}/${folder}`);
    const files = ["--format", "typescript", "--ignore", "**/layout*.ts", ...paths];
    const program = ["run", "--allow-all", ...LOCK, DETECTOR];
    await demand(Deno.execPath(), ...program, ...limits, ...reports, ...files);
    const { duplicates }: { duplicates: Clone[] } = JSON.parse(
      await Deno.readTextFile(`${output}/jscpd-report.json`),
    );
    const text = ({ name, start, end }: Place): string =>
      `${name.slice(root.length + 1)}:${start}-${end}`;
    return duplicates.filter(({ fragment }) => codeLines(fragment) >= LINES)
      .map(({ firstFile, secondFile }) => `${text(firstFile)} ~ ${text(secondFile)}`).sort();
  } finally {
    await Deno.remove(output, { recursive: true });
  }
}

/** Lines that are no comment, no import and more than brackets. */
function codeLines(fragment: string): number {
  const lines = fragment.replaceAll(/\/\*[^]*?\*\//g, "").replaceAll(/import [^;]*;/g, "");
  return lines.split("\n").filter((line) => /\w/.test(line.replace(/\/\/.*/, ""))).length;
}
