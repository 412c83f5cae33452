// The exported symbols: each one is documented, and found on its pages by the noun that it belongs to.

import { assert, assertEquals, assertGreater } from "@std/assert";
import denoJson from "../../../deno.json" with { type: "json" };
import { stdArguments } from "../../../tools/host/jsr.ts";
import { inProject, sourcesIn } from "../../../tools/host/paths.ts";
import { PACKAGES, sourcesOf } from "../../../tools/package/packages.ts";
import * as cm from "../../../cm.ts";
import { rows } from "../../../ffi/verbs.ts";
import * as verbs from "../../../mod.ts";
import { runDeno } from "../../subprocess.ts";

const VERBS = Deno.readTextFileSync(new URL("../../../docs/verbs.md", import.meta.url));

interface Page {
  readonly symbols: readonly { readonly name: string; readonly declarations: Documented[] }[];
}

/** A declaration, or a member of one. Of what else it has, the tests read what `deno doc` writes. */
interface Documented {
  readonly jsDoc?: {
    readonly doc?: string;
    readonly tags?: readonly { readonly kind: string }[];
  };
  // deno-lint-ignore no-explicit-any
  readonly [key: string]: any;
}

/** What `deno doc` knows of an entry point. */
async function pageOf(source: string): Promise<Page> {
  const args = ["doc", "--quiet", "--json", ...await stdArguments(), source];
  const { code, stdout, stderr } = await runDeno(args);
  assertEquals(code, 0, stderr);
  return Object.values(JSON.parse(stdout).nodes)[0] as Page;
}

/** Whether a link names a symbol, or a member of one or of its superclass. */
function leads({ symbols }: Page, target: string): boolean {
  const [name, ...rest] = target.split(".");
  const member = rest.at(-1);
  const found = symbols.find((symbol) => symbol.name === name);
  if (found === undefined || member === undefined) return found !== undefined;
  return found.declarations.some(({ kind, def = {} }) => {
    // Members of constants are not listed.
    if (kind === "variable") return true;
    const { methods = [], properties = [] } = def;
    if ([...methods, ...properties].some(({ name }) => name === member)) return true;
    const parents = [def.extends ?? []].flat().map((parent) => parent.repr ?? parent);
    return parents.some((parent) => leads({ symbols }, `${parent}.${member}`));
  });
}

const MODULES = PACKAGES.flatMap((one) =>
  Object.keys(one.exports).map((name, i) => [one.name + name.slice(1), sourcesOf(one)[i]!] as const)
);

for (const [name, source] of MODULES) {
  Deno.test(`symbols of ${name} have a category and a first sentence`, async () => {
    const { symbols } = await pageOf(source);
    assertGreater(symbols.length, 0);
    const faults: string[] = [];
    for (const { name: symbol, declarations } of symbols) {
      for (const { jsDoc: { doc = "", tags = [] } = {} } of declarations) {
        if (!tags.some(({ kind }) => kind === "category")) {
          faults.push(`${symbol} has no @category`);
        }
        // What lists of symbols show.
        const [first] = doc.split("\n\n", 1);
        if (!/\.\)?$/.test(first!.trim())) faults.push(`${symbol} does not start with a sentence`);
      }
    }
    assertEquals(faults, []);
  });

  Deno.test(`the comments of ${name} name members that there are, in backquotes`, async () => {
    const page = await pageOf(source);
    const text = JSON.stringify(page);
    // `deno doc` prints them as they stand.
    assertEquals(text.match(/\{@link\w* [^}]*\}/g) ?? [], []);
    const named = new Set(
      [...text.matchAll(/`([A-Z]\w+\.[a-z]\w*)(?:\(\))?`/g)].map(([, target]) => target!),
    );
    const own = [...named].filter((target) => leads(page, target.split(".")[0]!));
    assertEquals(own.filter((target) => !leads(page, target)), []);
  });
}

Deno.test("nothing is hidden from the pages but constructors that only the library calls", () => {
  const hidden = ["types", "net"].flatMap((path) => sourcesIn(path)).flatMap((file) => {
    const text = Deno.readTextFileSync(inProject(file));
    return Array.from(text.matchAll(/@ignore[^]*?\*\/\n *(.*)/g), ([, next]) => `${file}: ${next}`);
  });
  const isRight = /: (protected )?constructor\(|: declare protected readonly /;
  assertEquals(hidden.filter((line) => !isRight.test(line)), []);
  assertGreater(hidden.length, 9);
});

/** The errors of JavaScript; those of Deno have names with dots. */
const KNOWN_ERRORS = new Set(["Error", "RangeError", "SyntaxError", "TypeError"]);

for (const [name, source] of MODULES) {
  Deno.test(`errors that ${name} throws are exported by it or known`, async () => {
    const page = await pageOf(source);
    const thrown = JSON.stringify(page).matchAll(/"kind":"throws","tsType":\{"repr":"(\w+)"/g);
    const own = new Set(Array.from(thrown, ([, error]) => error!)).difference(KNOWN_ERRORS);
    const exported = new Set(page.symbols.map((symbol) => symbol.name));
    assertEquals([...own.difference(exported)], []);
  });
}

Deno.test("each member of an enum says what it means, where editors and the pages show it", async () => {
  let documented = 0;
  for (const [source, module] of [[".", verbs], ["./cm", cm]] as const) {
    const { symbols } = await pageOf(denoJson.exports[source]);
    for (const [name, values] of Object.entries(module)) {
      // Tables of texts have no members.
      if (typeof values !== "object" || /^[A-Z_]+$/.test(name)) continue;
      const [{ def }] = symbols.find((symbol) => symbol.name === name)!.declarations as [
        Documented,
      ];
      const members: Documented[] = def.tsType.value.properties;
      assertEquals(members.map(({ name }) => name).sort(), Object.keys(values).sort(), name);
      const faults = members.filter(({ jsDoc }) => !/\.$/.test(jsDoc?.doc?.trim() ?? ""));
      assertEquals(faults.map((member) => `${name}.${member.name}`), []);
      documented += members.length;
    }
  }
  assertGreater(documented, 410);
});

/** What closing an object calls, what names a device, and what reads a field of a completion: nobody calls these here. */
const NOT_SEARCHED =
  /^_|^ibv_(close|dealloc|dereg|destroy|free|unimport|wc_read|get_device)_|^ibv_(cq_ex_to_cq|reg_mr_iova2|wr_abort)$/;

Deno.test("the search of the pages finds each verb by its name in C", async () => {
  const text = JSON.stringify((await pageOf(denoJson.exports["."])).symbols);
  const words = new Set(text.match(/\b\w*ibv_\w+/g));
  const verbs = Object.keys(rows()).filter((name) => !NOT_SEARCHED.test(name));
  assertEquals(verbs.filter((name) => !words.has(name)), []);
  assertGreater(verbs.length, 125);
});

Deno.test("a class whose verbs only the recorder has run says so", async () => {
  const places = new Map<string, Set<string>>();
  for (const [, calls, where] of VERBS.matchAll(/^\| `\w+` +\|(.*?)\|[^|]*\|(.*?)\|$/gm)) {
    for (const [, name] of calls!.matchAll(/`(?:new )?([A-Z]\w+)/g)) {
      places.set(name!, (places.get(name!) ?? new Set()).add(where!.trim()));
    }
  }
  const { symbols } = await pageOf(denoJson.exports["."]);
  const saying = symbols.filter(({ declarations }) =>
    declarations.some(({ jsDoc }) => jsDoc?.tags?.some(({ kind }) => kind === "experimental"))
  ).map(({ name }) => name);
  const recorded = [...places].filter(([, where]) => [...where].join() === "the recording provider")
    .map(([name]) => name);
  assert(recorded.length >= 6);
  assertEquals(recorded.filter((name) => !saying.includes(name)), []);
});

/** What objects of many kinds have in common. A class has all else on its own page, or inherits from one that programs make. */
const COMMON = ["Error", "Resource", "NativeResource", "RequestList"];

Deno.test("each class shows its methods itself, or those of a class that programs make", async () => {
  const classes = new Map<string, Documented>();
  for (const [name, source] of MODULES) {
    if (!name.startsWith("@rdma/ibverbs")) continue;
    for (const { name, declarations } of (await pageOf(source)).symbols) {
      for (const { kind, def } of declarations) if (kind === "class") classes.set(name, def);
    }
  }
  const faults = [...classes].filter(([, { extends: base }]) => {
    if (base === undefined || COMMON.includes(base)) return false;
    return !classes.has(base) || classes.get(base)!.isAbstract === true;
  });
  assertEquals(faults.map(([name, { extends: base }]) => `${name} extends ${base}`), []);
  assert(classes.size > 60, `${classes.size} classes`);
});

/** Types that narrow an attribute of a documented interface, which has the words. */
const NARROWED = ["QpInitAttr", "QpInitAttrEx", "SendRequest"];

/** The objects within a type. */
function* literalsIn(type: unknown): Generator<Documented> {
  if (typeof type !== "object" || type === null) return;
  const { kind, value } = type as Documented;
  if (kind === "typeLiteral" && value.properties?.length > 0) yield value;
  for (const part of Object.values(type)) yield* literalsIn(part);
}

for (const [name, source] of MODULES) {
  Deno.test(`types of ${name} have interfaces for objects: deno doc shows the words of these`, async () => {
    const { symbols } = await pageOf(source);
    const wordless = symbols.filter(({ name, declarations }) =>
      !NARROWED.includes(name) &&
      declarations.some((one) => one.kind === "typeAlias" && [...literalsIn(one)].length > 0)
    );
    assertEquals(wordless.map(({ name }) => name), []);
  });
}
