// The public API as `deno doc` sees it.

/** The modules of the public API; `rxe` sets up a guest and is no binding. */
export type ModuleName = typeof MODULES[number];

const MODULES = [
  "mod.ts",
  "rss.ts",
  "cm.ts",
  "efa.ts",
  "testing.ts",
  "net/mod.ts",
  "cli/mod.ts",
  "ffi/mod.ts",
] as const;
const ROOT = new URL("../../../", import.meta.url);
const IMPORTS = new URL("tools/std/import_map.json", ROOT).pathname;

/** Something of the public API that can be called or read. */
export interface Callable {
  /** The module that exports it, or its class. */
  readonly module: ModuleName;
  /** Its name, such as `"new QueuePair"`, `"Gid.parse"`, `"QueuePair#postSend"` or `"listDevices"`. */
  readonly id: string;
  /** The class it belongs to. */
  readonly owner: string | undefined;
  readonly kind: "constructor" | "static" | "method" | "getter" | "function" | "inspect";
  /** Its name within the owner. */
  readonly name: string;
  /** Attributes of its parameters, by position. */
  readonly attributes: readonly Attributes[];
}

interface Param {
  readonly tsType?: unknown;
  readonly left?: Param;
}

interface Method {
  readonly name: string;
  readonly kind: string;
  readonly isStatic?: boolean;
  readonly accessibility?: string;
  readonly functionDef: { readonly params: readonly Param[] };
  readonly jsDoc?: { readonly tags?: readonly { readonly kind: string }[] };
}

interface Def {
  readonly isAbstract?: boolean;
  readonly params?: readonly Param[];
  readonly constructors?: readonly (Omit<Method, "functionDef"> & {
    readonly params: readonly Param[];
  })[];
  readonly methods?: readonly Method[];
  readonly properties?: readonly { readonly name: string; readonly tsType?: unknown }[];
  readonly extends?: readonly unknown[];
  readonly tsType?: unknown;
  readonly typeParams?: readonly { readonly name: string }[];
}

interface Symbol_ {
  readonly name: string;
  readonly declarations: readonly { readonly kind: string; readonly def: Def }[];
}

/** Reads the API of all modules. */
export async function readApi(): Promise<Callable[]> {
  const urls = MODULES.map((module) => new URL(module, ROOT).href);
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--json", `--import-map=${IMPORTS}`, ...urls],
  }).output();
  if (!success) {
    throw new Error(`Cannot read the public API: ${new TextDecoder().decode(stderr)}`);
  }
  const { nodes } = JSON.parse(new TextDecoder().decode(stdout)) as Documentation;
  const find = finder(Object.values(nodes).flatMap(({ symbols }) => symbols));
  return MODULES.flatMap((module, i) =>
    nodes[urls[i]!]!.symbols.flatMap((symbol) => callablesOf(module, symbol, find))
  );
}

interface Documentation {
  readonly nodes: Readonly<Record<string, { readonly symbols: readonly Symbol_[] }>>;
}

function callablesOf(
  module: ModuleName,
  { name, declarations }: Symbol_,
  find: Find,
): Callable[] {
  return declarations.flatMap(({ kind, def }) => {
    if (kind === "class") return membersOf(module, name, def, find);
    if (kind !== "function") return [];
    return [make({ id: name, module, owner: undefined, kind, name }, def.params ?? [], find)];
  });
}

/** Attributes of an object, with those of the objects in them. Lists stand for their elements. */
export interface Attributes {
  readonly [name: string]: Attributes;
}

type Find = (type: unknown) => Attributes;

/** Finds the attributes of what a type mentions: both of a union, those of `T` in `Partial<T>`, inherited ones. */
function finder(symbols: readonly Symbol_[]): Find {
  const known = new Map<string, Def>();
  for (const { name, declarations } of symbols) {
    for (const { kind, def } of declarations) {
      if (kind !== "function" && kind !== "variable") known.set(name, kind === "class" ? {} : def);
    }
  }
  const inType = (type: unknown, bound: Bound, within: readonly string[]): Attributes => {
    if (Array.isArray(type)) return merged(type.map((one) => inType(one, bound, within)));
    if (typeof type !== "object" || type === null || "params" in type) return {};
    if ("properties" in type) return inDef(type as Def, bound, within);
    if ("operator" in type && type.operator === "keyof") return {};
    if ("objType" in type) {
      const { objType } = type as { readonly objType: Mapped };
      if (objType.kind === "mapped") return inType(objType.value.tsType, bound, within);
      return merged(Object.values(inType(objType, bound, within)));
    }
    const { typeName, typeParams = [] } = type as TypeRef;
    if (bound.has(typeName!)) return inType(bound.get(typeName!), new Map(), within);
    if (typeName === "Pick" || typeName === "Omit") {
      const [all, names] = [inType(typeParams[0], bound, within), texts(typeParams[1])];
      const kept = Object.entries(all).filter(([name]) =>
        names.has(name) === (typeName === "Pick")
      );
      return Object.fromEntries(kept);
    }
    const def = known.get(typeName!);
    if (def === undefined) return inType(Object.values(type), bound, within);
    if (within.includes(typeName!)) return {};
    const inner: Bound = new Map(def.typeParams?.map(({ name }, i) => [name, typeParams[i]]));
    return inDef(def, inner, [...within, typeName!]);
  };
  const inDef = (def: Def, bound: Bound, within: readonly string[]): Attributes => {
    const own = (def.properties ?? []).map(({ name, tsType }) => ({
      [name]: inType(tsType, bound, within),
    }));
    return merged([...own, inType(def.extends, bound, within), inType(def.tsType, bound, within)]);
  };
  return (type) => inType(type, new Map(), []);
}

interface Mapped {
  readonly kind: string;
  readonly value: { readonly tsType: unknown };
}

/** The texts that a union is of. */
function texts(type: unknown): Set<string> {
  return new Set([...JSON.stringify(type).matchAll(/"string":"(\w+)"/g)].map(([, text]) => text!));
}

/** What stands for the parameters of a generic type. */
type Bound = ReadonlyMap<string, unknown>;

interface TypeRef {
  readonly typeName?: string;
  readonly typeParams?: readonly unknown[];
}

function merged(all: readonly Attributes[]): Attributes {
  const result: Record<string, Attributes> = {};
  for (const one of all) {
    for (const [name, inner] of Object.entries(one)) {
      result[name] = name in result ? merged([result[name]!, inner]) : inner;
    }
  }
  return result;
}

function membersOf(
  module: ModuleName,
  owner: string,
  def: Def,
  find: Find,
): Callable[] {
  const made: Callable[] = [];
  const add = (
    id: string,
    kind: Callable["kind"],
    name: string,
    params: readonly Param[],
  ): void => {
    if (made.some((callable) => callable.id === id)) return;
    made.push(make({ id, module, owner, kind, name }, params, find));
  };
  if (!def.isAbstract) {
    for (const { accessibility, params } of def.constructors ?? []) {
      if (accessibility === undefined) add(`new ${owner}`, "constructor", "constructor", params);
    }
  }
  for (
    const { name, kind, isStatic, accessibility, functionDef: { params } } of def.methods ?? []
  ) {
    if (accessibility !== undefined) continue;
    // Only console.log calls those with other symbols, and it is a callable of each class here.
    if (name.startsWith("[Symbol.for")) continue;
    if (kind === "getter") add(`${owner}#${name}`, "getter", name, []);
    else if (isStatic) add(`${owner}.${name}`, "static", name, params);
    else add(`${owner}#${name}`, "method", name, params);
  }
  add(`${owner}#inspect`, "inspect", "inspect", []);
  return made;
}

function make(
  callable: Omit<Callable, "attributes">,
  params: readonly Param[],
  find: Find,
): Callable {
  const types = params.map(({ tsType, left }) => tsType ?? left?.tsType);
  return { ...callable, attributes: types.map(find) };
}
