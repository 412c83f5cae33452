// The drawings of the documentation.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { DRAWINGS } from "../../../tools/docs/drawings/all.ts";
import { box, drawing } from "../../../tools/docs/drawings/svg.ts";
import { inProject } from "../../../tools/host/paths.ts";

for (const [name, draw] of Object.entries(DRAWINGS)) {
  Deno.test(`docs/drawings/${name} is what "deno task generate drawings" makes`, async () => {
    assertEquals(await Deno.readTextFile(inProject(`docs/drawings/${name}`)), draw());
  });

  Deno.test(`${name} has all its shapes on the page`, () => {
    const text = draw();
    const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(text)!.map(Number);
    const places = [
      ...text.matchAll(/ x="([\d.]+)" y="([\d.]+)"(?: width="([\d.]+)" height="([\d.]+)")?/g),
    ];
    assert(places.length > 10);
    for (const [place, x, y, w = "0", h = "0"] of places) {
      assert(Number(x) + Number(w) <= width!, `${place} is right of the page`);
      assert(Number(y) + Number(h) <= height!, `${place} is below the page`);
    }
  });
}

Deno.test("box() refuses a line that is wider than the box", () => {
  const area = { x: 0, y: 0, w: 100, h: 60 };
  assertThrows(() => box(area, "plain", "title", ["a line that is far too long"]), RangeError);
});

Deno.test("drawing() has a page of its own in light and in dark", () => {
  const text = drawing("a < b", 10, 10, []);
  assertEquals(text.match(/\.page \{ fill: #\w{6}/g)?.length, 2);
  assert(text.includes("<title>a &lt; b</title>"));
  assert(text.includes("@media (prefers-color-scheme: dark)"));
});
