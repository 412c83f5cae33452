// The table of acceptance cases names tests that exist.
import { assert, assertEquals } from "@std/assert";
import { cases } from "../acceptance/cases.ts";

const TESTS = new URL("../", import.meta.url);

Deno.test("Every acceptance case has a test, or a reason why there is none", () => {
  const empty = cases.filter(({ tests, limit }) => tests.length === 0 && limit === undefined);
  assertEquals(empty, []);
});

Deno.test("The tests that acceptance cases name exist", () => {
  const missing: string[] = [];
  for (const test of cases.flatMap(({ tests }) => tests)) {
    const [file, name] = [test.slice(0, test.indexOf(": ")), test.slice(test.indexOf(": ") + 2)];
    const source = Deno.readTextFileSync(new URL(file, TESTS));
    if (!source.replaceAll(/\s+/g, " ").includes(name)) missing.push(test);
  }
  assertEquals(missing, []);
});

Deno.test("No acceptance case is there twice", () => {
  const texts = cases.map(({ area, holds }) => `${area}: ${holds}`);
  assertEquals(new Set(texts).size, texts.length);
  assert(texts.length > 60);
});
