// The package as it is published: bundles to run, and the sources for types and documentation.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path/posix";
import denoJson from "../../../deno.json" with { type: "json" };
import { constants, enums, structs } from "../../../ffi/layout.ts";
import { linksOf } from "../../../tools/docs/documents.ts";
import {
  buildPackage,
  dryRun,
  leadOut,
  nameBases,
  nameClasses,
} from "../../../tools/package/build.ts";

const folder = await Deno.makeTempDir();
await buildPackage(folder);
globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
const config = JSON.parse(await Deno.readTextFile(`${folder}/deno.json`));

/** What the test reads of the pages. */
type Symbols = readonly {
  readonly name: string;
  readonly declarations: readonly {
    readonly kind: string;
    readonly jsDoc?: { readonly doc?: string };
    readonly def?: { readonly extends?: string };
  }[];
}[];

async function deno(...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd: folder,
    env: { NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`deno ${args.join(" ")} fails: ${decoder.decode(stderr)}`);
  return decoder.decode(stdout);
}

Deno.test("buildPackage() exports a bundle for each exported module, with the same names", async () => {
  assertEquals(Object.keys(config.exports), Object.keys(denoJson.exports));
  for (const [name, source] of Object.entries<string>(denoJson.exports)) {
    const bundle = await import(`${folder}/${config.exports[name]}`);
    const original = await import(import.meta.resolve(`../../../${source}`));
    assertEquals(Object.keys(bundle).sort(), Object.keys(original).sort());
    for (const [key, value] of Object.entries(bundle)) {
      if (typeof value === "function") assertEquals(value.name, original[key].name);
    }
  }
});

Deno.test("buildPackage() has what bundles share in files that all of them import", async () => {
  const [library, ffi] = await Promise.all([".", "./ffi"].map(async (name) => {
    const { modules } = JSON.parse(await deno("info", "--json", config.exports[name]));
    const code = (modules as { mediaType: string; specifier: string }[])
      .filter(({ mediaType }) => mediaType === "JavaScript");
    return new Set(code.map(({ specifier }) => specifier));
  }));
  assert(library!.intersection(ffi!).size > 0);
  assertEquals(library!.size, 2);
});

Deno.test("buildPackage() takes documentation and types from the sources", async () => {
  for (const [name, source] of Object.entries<string>(denoJson.exports)) {
    assertEquals(await deno("doc", config.exports[name]), await deno("doc", source));
  }
  await Deno.writeTextFile(
    `${folder}/user.ts`,
    `import { Gid } from "@rdma/ibverbs";
     const gid: Gid = Gid.parse("fe80::1");
     // @ts-expect-error It has no such method.
     gid.nothing();`,
  );
  await deno("check", "user.ts");
  await Deno.remove(`${folder}/user.ts`);
});

Deno.test("buildPackage() gives places in the sources in stack traces", async () => {
  const script = `import { Gid } from "@rdma/ibverbs";
    try { Gid.parse("x") } catch (error) { console.log(error.stack) }`;
  await Deno.writeTextFile(`${folder}/user.ts`, script);
  const stack = await deno("run", "--allow-ffi", "user.ts");
  await Deno.remove(`${folder}/user.ts`);
  const source = (await Deno.readTextFile(`${folder}/types/address/gid.ts`)).split("\n");
  const [, line] = /at Gid\.parse \(\S*\/types\/address\/gid\.ts:(\d+):\d+\)/.exec(stack) ?? [];
  assert(source[Number(line) - 1]?.includes("parseAddress"), stack);
});

Deno.test("dryRun() can publish what buildPackage() builds", async () => {
  const { status, stderr } = await dryRun(folder);
  assertEquals(status, 0, stderr);
});

Deno.test("Links of the package lead to its own files or to the repository", async () => {
  const names = await readdir(folder, { recursive: true });
  const files = names.filter((name) => name === "mod.ts" || name.endsWith(".md"));
  const lost = files.flatMap((file) => {
    const links = linksOf(Deno.readTextFileSync(`${folder}/${file}`)).map((link) =>
      link.split("#")[0]!
    );
    return links.filter((link) =>
      link !== "" && !names.includes(join(dirname(file), link).replace(/\/$/, ""))
    )
      .map((link) => `${file}: ${link}`);
  });
  assertEquals(lost, []);
  const link = (text: string): string => leadOut(text, "docs/a.md", ["docs/b.md", "x/y.ts"]);
  const { repository } = denoJson;
  assertEquals(link("[b](b.md#c) [x](../x/) [d](#d)"), "[b](b.md#c) [x](../x/) [d](#d)");
  assertEquals(link("[t](../tests/a.md#c)"), `[t](${repository}/blob/main/tests/a.md#c)`);
  assertEquals(link("![p](../p.svg)"), `![p](${repository}/raw/main/p.svg)`);
});

Deno.test("nameClasses() keeps the length of the text", () => {
  const text = "var Gid2=class _Gid extends Base{static of(){return new _Gid()}};_Gidx";
  const named = "var Gid2=class Gid  extends Base{static of(){return new Gid ()}};_Gidx";
  assertEquals(nameClasses(text), named);
});

Deno.test("nameBases() names the base of each class that has a comment, and moves no line", () => {
  const of = (base: string): string => ` It also has the members of {@linkcode ${base}}.`;
  const rows = [
    ["/** A. */\nexport class A extends B {}", `/** A.${of("B")} */\nexport class A extends B {}`],
    [
      "/**\n * A.\n *\n * More.\n */\nexport abstract class A<C extends D = D>\n  extends B<C> {",
      `/**\n * A.${
        of("B")
      }\n *\n * More.\n */\nexport abstract class A<C extends D = D>\n  extends B<C> {`,
    ],
    ["/**\n * A.\n */\nexport class A {}\nexport class E extends B {}"],
    ["/** A. */\nexport class A extends Error {}"],
  ] as const;
  for (const [text, expected = text] of rows) assertEquals(nameBases(text), expected);
});

Deno.test("The pages of the package name the class that each one inherits from", async () => {
  const silent: string[] = [];
  let count = 0;
  for (const source of ["mod.ts", "cm.ts", "efa.ts"]) {
    const pages = JSON.parse(await deno("doc", "--json", source));
    const [page] = Object.values<{ symbols: Symbols }>(pages.nodes);
    for (const { name, declarations } of page!.symbols) {
      for (const { kind, jsDoc, def } of declarations) {
        const base = kind === "class" ? def?.extends : undefined;
        if (base === undefined || base === "Error") continue;
        count++;
        if (!jsDoc?.doc?.includes(`the members of {@linkcode ${base}}`)) silent.push(name);
      }
    }
  }
  assertEquals(silent, []);
  assert(count >= 40);
});

Deno.test("buildPackage() has no enum made and no constant looked up while a program starts", async () => {
  const names = await readdir(`${folder}/dist`, { recursive: true });
  const text = names.filter((name) => name.endsWith(".js"))
    .map((name) => Deno.readTextFileSync(`${folder}/dist/${name}`)).join("");
  assertEquals(text.match(/=members\(|\b(enums|constants)\.\w+\.?[A-Z]\w+/g), null);
  assertStringIncludes(text, "=Object.freeze({");
});

Deno.test("buildPackage() keeps every layout and enum, which are parsed when they are read", async () => {
  const bundle = await import(`${folder}/${config.exports["./ffi"]}`);
  const isParsed = (): boolean =>
    "value" in Object.getOwnPropertyDescriptor(bundle.structs, "ibv_values_ex")!;
  assert(!isParsed());
  assertEquals(bundle.structs.ibv_values_ex, structs.ibv_values_ex);
  assert(isParsed());
  assertEquals({ ...bundle.structs }, { ...structs });
  assertEquals({ ...bundle.enums }, { ...enums });
  assertEquals(bundle.constants, constants);
});
