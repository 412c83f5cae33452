// The drawings of the documentation.

import { assert, assertEquals } from "@std/assert";
import { inProject } from "../../../tools/host/paths.ts";

const folder = inProject("docs/drawings");

for (const { name } of Deno.readDirSync(folder)) {
  Deno.test(`${name} has all its shapes on the page, and colours for dark pages`, async () => {
    const text = await Deno.readTextFile(`${folder}/${name}`);
    const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(text)!.map(Number);
    const places = [
      ...text.matchAll(/ x="([\d.]+)" y="([\d.]+)"(?: width="([\d.]+)" height="([\d.]+)")?/g),
    ];
    assert(places.length > 10);
    for (const [place, x, y, w = "0", h = "0"] of places) {
      assert(Number(x) + Number(w) <= width!, `${place} is right of the page`);
      assert(Number(y) + Number(h) <= height!, `${place} is below the page`);
    }
    assertEquals(text.match(/\.page \{ fill: #\w{6}/g)?.length, 2);
  });
}
