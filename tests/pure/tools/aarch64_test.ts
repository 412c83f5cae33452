// Which tests run on aarch64, and how their results are read.

import { assertEquals, assertGreater } from "@std/assert";
import { NOT_EMULATED, partsOf } from "../../../tools/aarch64/parts.ts";
import { inProject } from "../../../tools/host/paths.ts";
import { failedCases } from "../../../tools/tests/junit.ts";

Deno.test("failedCases() names the tests that failed as their files do", () => {
  const names = failedCases(`<testsuites>
    <testcase name="a() works"></testcase>
    <testcase name="b() throws &quot;x&quot; &amp; &lt;y&gt;" time="1"><failure message="m">t</failure></testcase>
    <testcase name="c()"><skipped/></testcase>
    <testcase name="d()"><error/></testcase>
  </testsuites>`);
  assertEquals(names, ['b() throws "x" & <y>', "d()"]);
});

Deno.test("partsOf() groups files by folder, and leaves out those of the tools", () => {
  const all = partsOf([], false);
  const folders = all.map(({ name }) => name);
  assertEquals(folders, [...new Set(folders)]);
  assertEquals(folders.includes("tests/library/work"), true);
  assertEquals(folders.some((name) => name.endsWith("/tools")), false);
  const short = partsOf([], true).flatMap(({ files }) => files);
  assertGreater(short.length, 8);
  assertGreater(all.flatMap(({ files }) => files).length, 4 * short.length);
  const path = "tests/pure/tools/aarch64_test.ts";
  assertEquals(partsOf([path], false), [{ name: "tests/pure/tools", files: [path] }]);
});

Deno.test("NOT_EMULATED names tests that exist", () => {
  const texts = partsOf([], false).flatMap(({ files }) => files)
    .map((file) => Deno.readTextFileSync(inProject(file)));
  const gone = Object.keys(NOT_EMULATED)
    .filter((name) => !texts.some((text) => text.includes(`.test("${name}"`)));
  assertEquals(gone, []);
});
