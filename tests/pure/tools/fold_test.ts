// What is computed when the package is built.
import { assertEquals } from "@std/assert";
import { fold, parsedOnUse, withLiterals, withNumbers } from "../../../tools/package/fold.ts";

Deno.test("withLiterals() puts the members of enums in their place, on as many lines", () => {
  assertEquals(
    withLiterals(`} = members(\n  "ibv_mw_type",\n  "IBV_MW_",\n);\nnext`),
    `} = Object.freeze({"TYPE_1":1,"TYPE_2":2})\n\n\n;\nnext`,
  );
});

Deno.test("withNumbers() puts numbers in the place of constants and members, not of types and unknown names", () => {
  const rows = [
    ["[enums.ibv_mw_type.IBV_MW_TYPE_2]", "[2]"],
    ["enums.ibv_mw_type\n  .IBV_MW_TYPE_2;\nnext", "2\n;\nnext"],
    ["constants.IBV_LINK_LAYER_ETHERNET & 1", "2 & 1"],
    ["constants.IBV_DEVICE_RAW_SCATTER_FCS", "17179869184"],
    ["typeof constants.IBV_LINK_LAYER_ETHERNET", undefined],
    ["typeof enums.ibv_mw_type.IBV_MW_TYPE_2", undefined],
    ["enums.ibv_mw_type.toString + constants.nothing", undefined],
  ] as const;
  for (const [text, expected = text] of rows) assertEquals(withNumbers(text), expected);
});

Deno.test("fold() moves no line of any source, and changes none that has nothing to fold", () => {
  const layout = Deno.readTextFileSync(new URL("../../../ffi/layout.ts", import.meta.url));
  const folded = fold(layout);
  const place = "export const structs: Structs";
  const lineOf = (text: string): number => text.slice(0, text.indexOf(place)).split("\n").length;
  assertEquals(lineOf(folded), lineOf(layout));
  assertEquals(folded.match(/parsedOnUse\(\{/g)?.length, 2);
  assertEquals(fold("const { a } = b;\n"), "const { a } = b;\n");
});

Deno.test("parsedOnUse() gives each value once, and all names", () => {
  const table = parsedOnUse({ a: "[1]", b: "not JSON" });
  assertEquals(Object.keys(table), ["a", "b"]);
  assertEquals(table.a, [1]);
  assertEquals(table.a === table.a, true);
});
