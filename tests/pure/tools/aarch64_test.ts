// Which tests run on aarch64.

import { assertEquals, assertGreater } from "@std/assert";
import { NOT_EMULATED, partsOf } from "../../../tools/aarch64/parts.ts";
import { inProject } from "../../../tools/host/paths.ts";

Deno.test("partsOf() groups files by folder, and leaves out those of the tools", () => {
  const all = partsOf([], false);
  assertEquals([...all.keys()].some((name) => name.endsWith("/tools")), false);
  const [few, many] = [partsOf([], true), all].map((parts) => [...parts.values()].flat());
  assertGreater(few!.length, 8);
  assertGreater(many!.length, 4 * few!.length);
});

Deno.test("NOT_EMULATED names tests that exist", () => {
  const texts = [...partsOf([], false).values()].flat()
    .map((file) => Deno.readTextFileSync(inProject(file)));
  const gone = Object.keys(NOT_EMULATED)
    .filter((name) => !texts.some((text) => text.includes(`"${name}",`)));
  assertEquals(gone, []);
});
