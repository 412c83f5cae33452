// docs/errors.md names the causes of errors as the library does. "deno task generate errors" writes them.
import { assertEquals } from "@std/assert";
import { rowsIn, TABLES } from "../../../tools/docs/causes.ts";

const read = (path: string): string =>
  Deno.readTextFileSync(new URL(`../../../${path}`, import.meta.url));

const ERRORS = read("docs/errors.md");

for (const [head, rows] of TABLES) {
  Deno.test(`docs/errors.md has the causes of the library: ${head}`, () => {
    assertEquals(rowsIn(ERRORS, head), rows);
  });
}

Deno.test("Each hint that the library gives for an errno is in docs/errors.md", () => {
  const sentences = TABLES.flatMap(([, rows]) => rows).map((cells) => {
    const parts = cells.at(-1)!.split(/_\w+_/).map((part) => RegExp.escape(part));
    return new RegExp(`^${parts.join(".+")}$`);
  });
  const calls = read("tests/library/faults/messages.txt").trimEnd().split(/\n(?! )/);
  const hints = calls.filter((call) => !call.includes(" closed: "))
    .flatMap((call) => call.split("\n  ").slice(1))
    .map((line) => line.slice(line.indexOf(": ") + 2));
  assertEquals(hints.filter((hint) => !sentences.some((sentence) => sentence.test(hint))), []);
});
