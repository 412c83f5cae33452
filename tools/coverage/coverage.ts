/** What is known about each verb without running it: whether it is bound and typed, and what docs/verbs.md says. */

import { rows } from "../../ffi/verbs.ts";
import { prototypes } from "../../tests/library/header.ts";
import { inProject, sourcesIn } from "../host/paths.ts";
import { capture } from "../host/setup.ts";

/** Functions of the header that are not for programs: macros and other functions call them. */
const INTERNAL = /^(_|verbs_)/;

/** All public verbs: those that are bound, and those that only the installed header has. */
export async function publicVerbs(): Promise<string[]> {
  const names = [
    ...Object.keys(rows()),
    ...(await prototypes()).map(({ name }) => name),
  ];
  return [...new Set(names)].filter((name) => !INTERNAL.test(name));
}

/** Where most verbs are tested. */
export const DEVICE = "a device";
/** Where a verb that no device offers is tested. */
export const RECORDER = "the recording provider";

/** A row of `docs/verbs.md`. */
export interface Known {
  /** The methods, constructors and functions that offer the verb. */
  readonly here: string;
  readonly since: string;
  readonly testedOn: string;
}

export const KNOWN: ReadonlyMap<string, Known> = new Map(
  Deno.readTextFileSync(inProject("docs/verbs.md")).split("\n")
    .map((line) => line.split("|").map((cell) => cell.trim()))
    .map(([, verb = "", here = "", since = "", testedOn = ""]) => [
      verb.replaceAll("`", ""),
      { here, since, testedOn },
    ]),
);

/** What is wrong with the verbs, a line each: one that is not bound, that nothing in types/ calls, or that has no right row. */
export async function faultsOfVerbs(): Promise<string[]> {
  const bound = new Set(Object.keys(rows()));
  const read = (file: string): string => Deno.readTextFileSync(inProject(file));
  const code = sourcesIn("types").map(read).join("\n").replaceAll(/^ *(\/\*\*|\*|\/\/).*$/gm, "");
  const exported = await exportedCalls();
  return (await publicVerbs()).flatMap((verb) => {
    const { here = "", since = "" } = KNOWN.get(verb) ?? {};
    const names = Array.from(here.matchAll(/`([^`]+)`/g), ([, name]) => name!);
    const isCalled = new RegExp(`(?:[."]|[{,] )${verb}\\b`).test(code);
    return [
      ...bound.has(verb) ? [] : [`${verb} is not bound`],
      ...isCalled ? [] : [`${verb} is not typed: nothing in types/ calls it`],
      ...names.length > 0 && since !== "" ? [] : [`docs/verbs.md needs a row for ${verb}`],
      ...names.filter((name) => !exported.has(name))
        .map((name) => `docs/verbs.md: ${verb}: there is no ${name}`),
    ];
  });
}

/** What `deno doc` says of a class, as far as it is read here. */
interface ClassDoc {
  readonly extends?: string;
  readonly constructors?: readonly unknown[];
  readonly properties?: readonly Member[];
  readonly methods?: readonly (Member & { readonly kind: "method" | "getter" | "setter" })[];
}

interface Member {
  readonly name: string;
}

interface Symbol {
  readonly name: string;
  readonly declarations: readonly { readonly kind: string; readonly def: ClassDoc }[];
}

/** What programs can call: `f()`, `new C()`, `C.method()`, also of base classes, and `C.property`. */
async function exportedCalls(): Promise<ReadonlySet<string>> {
  const { stdout } = await capture(Deno.execPath(), "doc", "--json", inProject("mod.ts"));
  const [{ symbols }] = Object.values(JSON.parse(stdout).nodes) as [{ symbols: Symbol[] }];
  const kinds = (kind: string): (readonly [string, ClassDoc])[] =>
    symbols.flatMap(({ name, declarations }) =>
      declarations.filter((one) => one.kind === kind).map(({ def }) => [name, def] as const)
    );
  const classes = new Map(kinds("class"));
  const membersOf = ({ properties = [], methods = [], extends: base = "" }: ClassDoc): string[] => [
    ...properties.map(({ name }) => name),
    ...methods.map(({ name, kind }) => kind === "method" ? `${name}()` : name),
    ...classes.has(base) ? membersOf(classes.get(base)!) : [],
  ];
  return new Set([
    ...kinds("function").map(([name]) => `${name}()`),
    ...[...classes].filter(([, def]) => def.constructors).map(([name]) => `new ${name}()`),
    ...[...classes].flatMap(([name, def]) => membersOf(def).map((member) => `${name}.${member}`)),
  ]);
}
