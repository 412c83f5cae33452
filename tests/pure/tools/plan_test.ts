// Which tests run when.
import { assertEquals } from "@std/assert";
import { testFiles } from "../../../tools/tests/files.ts";
import { type Choice, plan, TESTS } from "../../../tools/tests/plan.ts";

function filesOf(choice: Omit<Choice, "paths" | "both">): Set<string> {
  return new Set(
    plan({ paths: [], both: false, ...choice }).flatMap(({ paths }) => testFiles(paths)),
  );
}

Deno.test("Each test is among all tests or among the rare ones, and none is quick that is not among all", () => {
  const [all, rare, quick] = [filesOf({}), filesOf({ rare: true }), filesOf({ quick: true })];
  const files = new Set(TESTS.flatMap((folder) => testFiles([folder])));
  // soft-iWARP has a guest of its own: "deno task long siw".
  files.delete("tests/siw/siw_test.ts");
  assertEquals([...files.difference(all.union(rare))], []);
  assertEquals([...quick.difference(all)], []);
  assertEquals(
    [...rare].filter((file) => /\/project\//.test(file)).filter((file) => all.has(file)),
    [],
  );
});
