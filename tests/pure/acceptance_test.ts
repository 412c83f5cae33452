// The table of acceptance cases names tests that exist.
import { assertEquals, assertGreater } from "@std/assert";

const TESTS = new URL("../", import.meta.url);

interface Case {
  readonly name: string;
  readonly tests: string[];
  readonly limits: string[];
}

/** Reads the table. */
function read(): Case[] {
  const cases: Case[] = [];
  let area = "";
  for (const line of Deno.readTextFileSync(new URL("acceptance/cases.txt", TESTS)).split("\n")) {
    const [, mark, text] = line.match(/^(##|-| {2}test| {2}limit) (.+)$/) ?? [];
    if (mark === "##") area = text!;
    else if (mark === "-") cases.push({ name: `${area}: ${text}`, tests: [], limits: [] });
    else if (mark !== undefined) cases.at(-1)![mark === "  test" ? "tests" : "limits"].push(text!);
  }
  return cases;
}

const cases = read();

Deno.test("Every acceptance case has a test, or a reason why there is none", () => {
  assertGreater(cases.length, 80);
  assertEquals(cases.filter(({ tests, limits }) => tests.length + limits.length === 0), []);
});

Deno.test("The tests that acceptance cases name exist", () => {
  const missing = cases.flatMap(({ tests }) => tests).filter((test) => {
    const [file, name] = [test.slice(0, test.indexOf(": ")), test.slice(test.indexOf(": ") + 2)];
    const source = Deno.readTextFileSync(new URL(file, TESTS)).replaceAll(/\s+/g, " ");
    // A title begins with a quotation mark, or is the key of a table; a comment does not count.
    const key = /^\w+$/.test(name) ? [` ${name}: `] : [];
    return !['"' + name, "`" + name, ...key].some((text) => source.includes(text));
  });
  assertEquals(missing, []);
});

Deno.test("No acceptance case is there twice", () => {
  const names = cases.map(({ name }) => name);
  assertEquals(new Set(names).size, names.length);
});
