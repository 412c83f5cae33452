// Source maps of the package's bundles.
import { assertEquals } from "@std/assert";
import { firstPlaces, shrinkMap } from "../../../tools/package/source_map.ts";

Deno.test("firstPlaces() keeps the first place of each line of a source", () => {
  // Columns 0, 9 and 15 come from line 0, columns 16 to 38 from line 2, and column 39 from line 3.
  const mappings = "AAAO,SAAS,MAAc,CAE5B,MAAM,IAAI,MAAM,MAAM,CACxB";
  assertEquals(firstPlaces(mappings), "AAAO,gBAEL,uBACF");
});

Deno.test("firstPlaces() counts columns anew in each line, and goes on with sources and their lines", () => {
  assertEquals(firstPlaces(";;AAAA,CAAC;EACA;;CCDD,CAAC"), ";;AAAA;EACC;;CCDD");
});

Deno.test("shrinkMap() changes nothing but the mappings and the names", () => {
  const map = { version: 3, sources: ["a.ts"] };
  const whole = JSON.stringify({ ...map, mappings: "AAAA,CAAC", names: ["x"] });
  assertEquals(shrinkMap(whole), JSON.stringify({ ...map, mappings: "AAAA", names: [] }));
});

Deno.test("shrinkMap() leaves out a map without places", () => {
  const map = { version: 3, sources: [], mappings: "", names: [] };
  assertEquals(shrinkMap(JSON.stringify(map)), undefined);
});

Deno.test("firstPlaces() leaves out one file, and goes on counting from what it kept", () => {
  assertEquals(firstPlaces("AAAA,CCAC,CCAC,CAEC", 1), "AAAA,EEAE,CAEC");
});
