// The documents: their snippets fit the public API, and their links lead somewhere.

import { assertEquals, assertGreater } from "@std/assert";
import {
  anchorsOf,
  documents,
  faultOf,
  linksOf,
  readDocument,
  type Snippet,
  snippetsOf,
} from "../../../tools/docs/documents.ts";
import { stdArguments } from "../../../tools/host/jsr.ts";
import { inProject, project } from "../../../tools/host/paths.ts";

const TEXT = [
  "# Title, with `code`",
  "[a](docs/no.md) and `[b](c.md)` and [d](https://example.com)",
  "```ts",
  "# no heading",
  "[e](f.md)",
  "```",
  "## Title, with `code`",
  "```sh",
  "ls",
  "```",
].join("\n");

Deno.test("snippetsOf() finds blocks of TypeScript with their lines", () => {
  const text = "# no heading\n[e](f.md)\n";
  assertEquals(snippetsOf("a.md", TEXT), [{ document: "a.md", line: 4, text }]);
});

Deno.test("linksOf() leaves out code and other hosts", () => {
  assertEquals(linksOf("a.md", TEXT), [{ document: "a.md", line: 2, target: "docs/no.md" }]);
});

Deno.test("anchorsOf() numbers headings that repeat", () => {
  assertEquals(anchorsOf(TEXT), ["title-with-code", "title-with-code-1"]);
});

Deno.test("faultOf() names missing files and headings", () => {
  const fault = (target: string): string | undefined =>
    faultOf({ document: "docs/README.md", line: 1, target });
  assertEquals(fault("no.md"), "there is no docs/no.md");
  assertEquals(fault("rss.md#no"), 'there is no heading "no"');
  assertEquals([fault("rss.md#providers"), fault("../mod.ts"), fault("drawings/rss.svg")], [
    undefined,
    undefined,
    undefined,
  ]);
});

for (const document of documents()) {
  Deno.test(`links of ${document} lead somewhere`, () => {
    const links = linksOf(document, readDocument(document));
    const faults = links.flatMap((link) => {
      const fault = faultOf(link);
      return fault === undefined ? [] : [`${document}:${link.line}: ${link.target}: ${fault}`];
    });
    assertEquals(faults, []);
  });
}

Deno.test("docs/README.md links each document of its folder", () => {
  const linked = linksOf("docs/README.md", readDocument("docs/README.md"))
    .map(({ target }) => `docs/${target}`);
  const others = documents().filter((name) => /^docs\/(?!README)/.test(name));
  assertEquals(others.filter((name) => !linked.includes(name)), []);
});

Deno.test("snippets of the documents fit the public API", async () => {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["check", ...await stdArguments(), "--doc-only", ...documents()],
    cwd: project,
    env: { NO_COLOR: "1" },
  }).output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
});

Deno.test("snippets that need no device run", async () => {
  const snippets = documents().flatMap((name) => snippetsOf(name, readDocument(name)))
    .filter((snippet) => !needsDevice(snippet));
  assertGreater(snippets.length, 10);
  // Inside the project, where the name of the package means its sources.
  Deno.mkdirSync(inProject(".cache"), { recursive: true });
  const folder = await Deno.makeTempDir({ dir: inProject(".cache"), prefix: "snippets-" });
  try {
    const files = snippets.map(({ document, line, text }) => {
      const file = `${document.replaceAll("/", "_")}_${line}.ts`;
      Deno.writeTextFileSync(`${folder}/${file}`, text);
      return file;
    });
    const all = files.map((file) => `import "./${file}";\n`).join("");
    Deno.writeTextFileSync(`${folder}/all.ts`, all);
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-check", ...await stdArguments(), `${folder}/all.ts`],
      cwd: project,
      env: { NO_COLOR: "1" },
      stdin: "null",
    }).output();
    assertEquals(code, 0, new TextDecoder().decode(stderr));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** Whether a snippet opens a device or starts a guest. */
function needsDevice({ text }: Snippet): boolean {
  return /Context\.open\(|await (listen|connect)(Ud|Rc)\(|await runInGuest\(|await runCli\(/.test(
    text,
  );
}
