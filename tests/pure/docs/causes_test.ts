// docs/errors.md names each cause that the library names: those of tests/library/faults/messages.txt, and those of completions.
import { assertEquals } from "@std/assert";
import { WcStatus } from "../../../mod.ts";
import { hintFailure } from "../../../types/completion/failure_hints.ts";

const read = (path: string): string =>
  Deno.readTextFileSync(new URL(`../../../${path}`, import.meta.url));

/** The rows of the table under a heading, each as its cells. */
function rowsUnder(heading: string): string[][] {
  const [, section] = read("docs/errors.md").split(`\n${heading}\n`);
  const lines = section!.split(/\n#/)[0]!.split("\n").filter((line) => line.startsWith("|"));
  return lines.slice(2).map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));
}

const quoted = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map((part) => part[1]!);

/** A row of causes: what its verbs match, where `*` stands for any letters, and its codes. */
interface Row {
  readonly verbs: readonly [name: string, pattern: RegExp][];
  readonly codes: readonly string[];
}

const ROWS: readonly Row[] = (() => {
  let names: string[] = [];
  return rowsUnder("### Causes by verb").map(([verbs, codes]) => {
    if (verbs !== "") names = quoted(verbs!);
    return {
      verbs: names.map((name) => [name, new RegExp(`^${name.replaceAll("*", "\\w*")}$`)]),
      codes: codes!.split(/, /),
    };
  });
})();

/** Calls that fail, each with its verb and its lines. */
const CALLS = read("tests/library/faults/messages.txt").trimEnd().split(/\n(?! )/).map((call) => {
  const [title = "", ...lines] = call.split("\n  ");
  const [name = "", verb = ""] = title.split(": ");
  return { verb: verb.replace(/^_+/, ""), isEnd: name.endsWith(" closed"), lines };
});

Deno.test("docs/errors.md has a row for each code of a verb that the library names a cause of", () => {
  const missing = CALLS.filter(({ isEnd }) => !isEnd).flatMap(({ verb, lines }) =>
    lines.flatMap((line) => line.split(": ")[0]!.split(" ")).filter((code) =>
      !ROWS.some((row) =>
        row.codes.includes(code) && row.verbs.some(([, pattern]) => pattern.test(verb))
      )
    ).map((code) => `${verb} ${code}`)
  );
  assertEquals([...new Set(missing)], []);
});

Deno.test("docs/errors.md names verbs that exist", () => {
  const unknown = ROWS.flatMap((row) => row.verbs)
    .filter(([, pattern]) => !CALLS.some(({ verb }) => pattern.test(verb)))
    .map(([name]) => name);
  assertEquals(unknown, []);
});

Deno.test("docs/errors.md has a row for each status of completions that has a hint", () => {
  const rows = rowsUnder("## Failed completions").flatMap(([status]) => quoted(status!));
  const hinted = Object.keys(WcStatus).filter((name) => hintFailure(0, name) !== undefined);
  assertEquals(rows.toSorted(), hinted.toSorted());
});
