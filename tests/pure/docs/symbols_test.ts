// The exported symbols: each one is documented, and found on its pages by the noun that it belongs to.

import { assert, assertEquals, assertGreater } from "@std/assert";
import denoJson from "../../../deno.json" with { type: "json" };
import { stdArguments } from "../../../tools/host/jsr.ts";
import { project } from "../../../tools/host/paths.ts";

/** What readers look for. A further noun is a decision: it is one more line in the list of categories. */
const CATEGORIES: Record<string, readonly string[]> = {
  ".": [
    "Address handles",
    "Asynchronous events",
    "Completions",
    "Constants",
    "Devices and ports",
    "Errors",
    "Flow steering",
    "GIDs and headers",
    "Memory",
    "Native handles",
    "Objects and lifetimes",
    "Protection domains",
    "Queue pairs",
    "Receive work queues and RSS",
    "Reply path",
    "Shared receive queues",
    "Work requests",
  ],
  "./ffi": [
    "Calls of verbs",
    "Constants",
    "Errors",
    "Layouts of structs",
    "Native handles",
    "Operations of a device",
    "Pointers and memory",
    "Prototypes of verbs",
  ],
  "./net": ["Connections", "Datagrams", "Memory of the peer", "Options"],
  "./cli": ["Commands"],
  "./rxe": ["Errors", "Guest", "Options"],
};

interface JsDoc {
  readonly doc?: string;
  readonly tags?: readonly { readonly kind: string; readonly doc?: string }[];
}

interface Parameter {
  readonly kind: string;
  /** The parameter itself, where it has a default. */
  readonly left?: Parameter;
}

interface Signature {
  readonly params?: readonly Parameter[];
}

interface Member {
  readonly name?: string;
  readonly accessibility?: string;
  readonly functionDef?: Signature;
  readonly hasBody?: boolean;
  readonly params?: readonly Parameter[];
  readonly jsDoc?: JsDoc;
}

interface Declaration {
  readonly kind: string;
  readonly jsDoc?: JsDoc;
  readonly def?: Signature & {
    readonly constructors?: readonly Member[];
    readonly methods?: readonly Member[];
    readonly properties?: readonly Member[];
    /** The name of the superclass. */
    readonly extends?: unknown;
  };
}

interface Page {
  readonly module_doc?: JsDoc;
  readonly symbols: readonly { readonly name: string; readonly declarations: Declaration[] }[];
}

/** What `deno doc` knows of an entry point. */
async function pageOf(source: string): Promise<Page> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--quiet", "--json", ...await stdArguments(), source],
    cwd: project,
    env: { NO_COLOR: "1" },
  }).output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
  const { nodes } = JSON.parse(new TextDecoder().decode(stdout)) as { nodes: Record<string, Page> };
  return Object.values(nodes)[0]!;
}

function categoryOf({ jsDoc }: Declaration): string | undefined {
  return jsDoc?.tags?.find(({ kind }) => kind === "category")?.doc?.trim();
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
    const members = [...def.methods ?? [], ...def.properties ?? []];
    if (members.some((it) => it.name === member)) return true;
    const parents = Array.isArray(def.extends)
      ? def.extends.map(({ repr }) => repr)
      : [def.extends];
    return parents.some((parent) =>
      typeof parent === "string" && leads({ symbols }, `${parent}.${member}`)
    );
  });
}

/** The words of a comment before its first empty line: what lists of symbols show. */
function firstParagraph({ doc = "" }: JsDoc): string {
  return doc.split("\n\n", 1)[0]!.trim();
}

for (const [name, source] of Object.entries(denoJson.exports)) {
  Deno.test(`symbols of ${name} have a category and a first sentence`, async () => {
    const { symbols } = await pageOf(source);
    assertGreater(symbols.length, 0);
    const faults: string[] = [];
    const used = new Set<string>();
    for (const { name: symbol, declarations } of symbols) {
      for (const declaration of declarations) {
        const category = categoryOf(declaration);
        if (category === undefined) faults.push(`${symbol} has no @category`);
        else used.add(category);
        const first = firstParagraph(declaration.jsDoc ?? {});
        if (!/\.\)?$/.test(first)) faults.push(`${symbol} does not start with a sentence`);
      }
    }
    assertEquals(faults, []);
    assertEquals([...used].sort(), CATEGORIES[name]);
  });

  Deno.test(`pages of ${name} show no internals`, async () => {
    const { symbols } = await pageOf(source);
    const faults: string[] = [];
    for (const { name: symbol, declarations } of symbols) {
      for (const { def, jsDoc } of declarations) {
        const shown = ({ jsDoc }: Member): boolean =>
          !jsDoc?.tags?.some(({ kind }) => kind === "ignore" || kind === "internal");
        const { constructors = [], methods = [], properties = [] } = def ?? {};
        const members = [...constructors, ...methods, ...properties].filter(shown);
        for (const { name: member = "", accessibility } of members) {
          if (accessibility) faults.push(`${symbol}.${member} is ${accessibility}`);
        }
        // Of a constructor with overloads, deno doc shows the implementation as well.
        const bodies = constructors.filter((it) => shown(it) && it.hasBody);
        if (bodies.length > 0 && constructors.length > 1) {
          faults.push(`${symbol} shows the implementation of its constructor`);
        }
        const signatures = [
          { jsDoc, ...def },
          ...members.map((it) => ({ ...it, ...it.functionDef })),
        ];
        for (const { params = [] } of signatures) {
          // The pages call a parameter that is taken apart arg_0.
          const nameless = params.map((param) => param.left ?? param)
            .some(({ kind }) => kind === "object" || kind === "array");
          if (nameless) faults.push(`${symbol} has a parameter without a name`);
        }
      }
    }
    assertEquals(faults, []);
  });

  Deno.test(`links in the comments of ${name} lead to symbols`, async () => {
    const page = await pageOf(source);
    const text = JSON.stringify(page);
    const links = [...text.matchAll(/\{@link(?:code)? ([^}|]+?)(?: *\|[^}]*)?\}/g)]
      .map(([, target]) => target!);
    const lost = new Set(links.filter((target) => !leads(page, target)));
    assertEquals([...lost], []);
  });

  Deno.test(`the front page of ${name} says what it is, and shows an example`, async () => {
    const { doc = "" } = (await pageOf(source)).module_doc ?? {};
    assert(/^[A-Z][^\n]*/.test(doc), "it starts with a sentence");
    assert(/^```ts\n[^`]*from "@rdma\/ibverbs/m.test(doc), "it has an example");
    assert(doc.includes("**Where to go next.**"), "it says where to go next");
  });
}
