// What `deno task check` counts, and that it fails when a figure grows.

import { assertEquals, assertThrows } from "@std/assert";
import { clonesIn } from "../../../tools/house/clones.ts";
import { judge } from "../../../tools/house/figures.ts";
import { countsOf } from "../../../tools/house/syntax.ts";
import { instrument } from "../../../tools/house/trail.ts";
import { end, follow, holder } from "../../../tools/house/trail/note.ts";

const NOTHING = { exports: 0, assigned: 0, namespaces: 0, writers: 0 };

const COUNTS: readonly [text: string, counts: Partial<typeof NOTHING>][] = [
  ["export const a = 1, b = 2;\nexport class C {}", { exports: 3 }],
  ['export { a, type B } from "./a.ts";', { exports: 2 }],
  ['export * from "./a.ts";', { exports: Infinity }],
  ["export let doorOf: (x: X) => Door;\nlet own = 1;", { exports: 1, assigned: 1 }],
  ['import * as all from "./all.ts";\nimport { one } from "./one.ts";', { namespaces: 1 }],
  ["const f = () => { writeField(v, a, 1); writeField(v, b, 2); };", { writers: 1 }],
  ["class C { m() { this.v.setUint32(at + f.offset, 1, true); } }", { writers: 1 }],
  ["const A = f.offset >> 2;\nfunction f() { v.setInt8(at + A, 1); v.getInt8(A); }", {
    writers: 1,
  }],
  ["function bytes() { view.setUint32(0, 1); attributes.set(words); }", {}],
];

for (const [text, counts] of COUNTS) {
  Deno.test(`countsOf() finds ${JSON.stringify(counts)} in ${text}`, () => {
    assertEquals(countsOf(text), { ...NOTHING, ...counts });
  });
}

Deno.test("judge() fails above a limit, and names what was counted", () => {
  const limits = { doors: [2, 1], lines: [10, 5] } as const;
  const found = [{ name: "doors", value: 3, of: ["a.ts 3"] }, { name: "lines", value: 10 }];
  const { lines, faults } = judge(found, limits);
  assertEquals(lines.length, 2);
  assertEquals(faults, ["doors: 3, at most 2\n  a.ts 3"]);
});

Deno.test("clonesIn() finds six lines of code, and no comments", async () => {
  const root = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${root}/a`);
    const code = (lines: number): string =>
      Array.from({ length: lines }, (_, i) => `  if (value === ${i}) return work(value, ${i});\n`)
        .join("");
    const write = (file: string, text: string): void =>
      Deno.writeTextFileSync(`${root}/a/${file}`, text);
    write("one.ts", `function one(value) {\n${code(7)}  first();\n}\n`);
    write("two.ts", `const two = [3];\n{\n${code(7)}  second();\n}\n`);
    assertEquals(await clonesIn(root, ["a"]), ["a/one.ts:1-9 ~ a/two.ts:2-10"]);
    write("two.ts", `const two = [3];\n{\n${code(3)}${"  // why\n".repeat(9)}  second();\n}\n`);
    assertEquals(await clonesIn(root, ["a"]), []);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("instrument() notes the arguments and the results of all functions", () => {
  const noted: unknown[] = [];
  const source = instrument(
    "a/b.ts",
    "const twice = ({ n }) => 2 * n;\nfunction f(a) { if (a) return twice(a); }\nreturn f({ n: 3 });",
  ).replace(/^.*\n/, "");
  const run = new Function("noteArguments", "noteResult", source);
  const result = run(
    (values: ArrayLike<unknown>) => noted.push([...Array.from(values)]),
    (value: unknown) => {
      noted.push(value);
      return value;
    },
  );
  assertEquals(result, 6);
  assertEquals(noted, [[{ n: 3 }], [3], 6, 6, 6]);
});

Deno.test("holder() finds a mark in properties, and in memory if it looks for a byte", () => {
  const holds = holder(7n);
  assertEquals([7n, { a: [{ b: 7n }] }, 7, null, { a: 8n }].map(holds), [true, true, ...no(3)]);
  assertEquals(holder(7)(Uint8Array.of(1, 7)), false);
  assertEquals(holder(7, 7)(new DataView(Uint8Array.of(1, 7).buffer)), true);
});

function no(count: number): boolean[] {
  return new Array(count).fill(false);
}

Deno.test("follow() refuses a value that does not reach native code", () => {
  assertEquals(follow(holder(1), end), []);
  assertThrows(() => follow(holder(1), () => {}), Error, "did not reach native code");
});
