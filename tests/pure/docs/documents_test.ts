// The documents: their snippets fit the public API, and their links lead somewhere.

import { assertEquals, assertGreater } from "@std/assert";
import {
  documents,
  faultOf,
  linksOf,
  readDocument,
  writeSnippets,
} from "../../../tools/docs/documents.ts";
import { allFences } from "../../../tools/docs/fences.ts";
import { stdArguments } from "../../../tools/host/jsr.ts";
import { runDeno } from "../../subprocess.ts";
import * as cm from "../../../cm.ts";
import * as efa from "../../../efa.ts";
import { constants, enums } from "../../../ffi/layout.ts";
import { rdmacmRows } from "../../../ffi/rdmacm/functions.ts";
import * as verbs from "../../../mod.ts";
import { QpState, QpType } from "../../../types/queue_pair/qp_enums.ts";
import { requiredFor } from "../../../types/queue_pair/activation.ts";

const { INIT, RTR, RTS } = QpState;

for (const document of documents()) {
  Deno.test(`links of ${document} lead somewhere`, () => {
    const links = linksOf(readDocument(document));
    assertEquals(links.filter((link) => faultOf(document, link) !== undefined), []);
  });
}

Deno.test("docs/README.md links each document of its folder", () => {
  const linked = linksOf(readDocument("docs/README.md")).map((target) => `docs/${target}`);
  const others = documents().filter((name) => /^docs\/(?!README)/.test(name));
  assertEquals(others.filter((name) => !linked.includes(name)), []);
});

Deno.test("snippets that need no device run", async () => {
  const snippets = allFences().filter(({ kind }) => kind === "host");
  assertGreater(snippets.length, 2);
  await using written = await writeSnippets(snippets);
  const all = `${written.files[0]}.all.ts`;
  Deno.writeTextFileSync(all, written.files.map((file) => `import "${file}";\n`).join(""));
  const { code, stderr } = await runDeno(["run", "--no-check", ...await stdArguments(), all]);
  assertEquals(code, 0, stderr);
});

Deno.test("docs/queue_pairs.md names what each transition needs", () => {
  const rows = readDocument("docs/queue_pairs.md").split("\n")
    .map((line) => line.split("|").map((cell) => cell.trim()));
  const columns = [QpType.UD, QpType.UC, QpType.RC];
  const steps = { "RESET to INIT": INIT, "INIT to RTR": RTR, "RTR to RTS": RTS };
  for (const [step, state] of Object.entries(steps)) {
    const [, , ...cells] = rows.find(([, first]) => first === step)!;
    const named = cells.map((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name!));
    const [, uc = []] = named;
    columns.forEach((type, i) => {
      const names = cells[i]!.startsWith("as UC") ? [...uc, ...named[i]!] : named[i]!;
      assertEquals(names.toSorted(), requiredFor(type, state).toSorted(), `${step}, type ${type}`);
    });
  }
});

Deno.test("docs/from_c.md has a row for each function of librdmacm", () => {
  const rows = readDocument("docs/from_c.md").split("\n").filter((line) => line.startsWith("|"));
  const named = new Set(rows.flatMap((row) => row.split("|")[1]!.match(/\brdma_\w+/g) ?? []));
  assertEquals(Object.keys(rdmacmRows).filter((name) => !named.has(name)), []);
});

Deno.test("docs/from_c.md leads from each prefix of C's constants to its enums", () => {
  const inC: Readonly<Record<string, unknown>> = Object.assign(
    {},
    constants,
    ...Object.values(enums).map((members) => ({ ...members })),
  );
  const pairs = readDocument("docs/from_c.md").matchAll(/\| `(\w+_)\*` +\| ([`\w, ]+?) +(?=\|)/g);
  const named = Array.from(
    pairs,
    ([, prefix, names]) =>
      [...names!.matchAll(/\w+/g)].map(([name]) => ({ prefix: prefix!, name })),
  )
    .flat();
  // Tables of texts have names in capitals.
  const own = Object.entries({ ...verbs, ...cm, ...efa })
    .filter(([name, values]) => typeof values === "object" && /[a-z]/.test(name));
  const faults = own.filter(([own, values]) => {
    const { prefix } = named.find(({ name }) => name === own) ?? { prefix: "none" };
    return Object.entries(values).some(([member, value]) => inC[prefix + member] !== value);
  });
  assertEquals(faults.map(([name]) => name), []);
  assertEquals(named.map(({ name }) => name).sort(), own.map(([name]) => name).sort());
});
