// The public API as `deno doc` sees it.

/** The modules of the public API; `rxe` sets up a guest and is no binding. */
export type ModuleName = typeof MODULES[number];

const MODULES = ["mod.ts", "net/mod.ts", "cli/mod.ts", "ffi/mod.ts"] as const;
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
  /** Attributes of its parameters by position, if the parameter's type is an interface. */
  readonly attributes: readonly (readonly string[])[];
}

interface TsType {
  readonly kind: string;
  readonly repr?: string;
  readonly value?: unknown;
}

interface Param {
  readonly tsType?: TsType;
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
  readonly properties?: readonly { readonly name: string }[];
  readonly extends?: readonly TsType[];
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
  const attributes = attributesOf(Object.values(nodes).flatMap(({ symbols }) => symbols));
  return MODULES.flatMap((module, i) =>
    nodes[urls[i]!]!.symbols.flatMap((symbol) => callablesOf(module, symbol, attributes))
  );
}

interface Documentation {
  readonly nodes: Readonly<Record<string, { readonly symbols: readonly Symbol_[] }>>;
}

function callablesOf(
  module: ModuleName,
  { name, declarations }: Symbol_,
  attributes: Attributes,
): Callable[] {
  return declarations.flatMap(({ kind, def }) => {
    if (kind === "class") return membersOf(module, name, def, attributes);
    if (kind !== "function") return [];
    return [make({ id: name, module, owner: undefined, kind, name }, def.params ?? [], attributes)];
  });
}

type Attributes = (type: TsType | undefined) => readonly string[];

/** Finds the names of an interface's attributes, inherited ones included. */
function attributesOf(symbols: readonly Symbol_[]): Attributes {
  const interfaces = new Map<string, Def>();
  for (const { name, declarations } of symbols) {
    for (const { kind, def } of declarations) if (kind === "interface") interfaces.set(name, def);
  }
  const own = (name: string): string[] => {
    const def = interfaces.get(name);
    if (def === undefined) return [];
    const inherited = (def.extends ?? []).flatMap((type) => named(type).flatMap(own));
    return [...new Set([...inherited, ...(def.properties ?? []).map(({ name }) => name)])];
  };
  return (type) => [...new Set(named(type).flatMap(own))];
}

/** The names that a type mentions, such as both of `Partial<AhAttr>`. */
function named(type: unknown): string[] {
  return [...JSON.stringify(type ?? null).matchAll(/"repr":"(\w+)"/g)].map(([, name]) => name!);
}

function membersOf(
  module: ModuleName,
  owner: string,
  def: Def,
  attributes: Attributes,
): Callable[] {
  const made: Callable[] = [];
  const add = (
    id: string,
    kind: Callable["kind"],
    name: string,
    params: readonly Param[],
  ): void => {
    if (made.some((callable) => callable.id === id)) return;
    made.push(make({ id, module, owner, kind, name }, params, attributes));
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
  attributes: Attributes,
): Callable {
  const types = params.map(({ tsType, left }) => tsType ?? left?.tsType);
  return { ...callable, attributes: types.map(attributes) };
}
