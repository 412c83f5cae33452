// The public API as `deno doc` sees it.

/** Something of the public API that can be called or read. */
export interface Callable {
  /** Its name, such as `"new QueuePair"`, `"Gid.parse"`, `"QueuePair#postSend"` or `"listDevices"`. */
  readonly id: string;
  /** The class it belongs to. */
  readonly owner: string | undefined;
  readonly kind: "constructor" | "static" | "method" | "getter" | "function";
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

/** Reads the API of mod.ts. */
export async function readApi(): Promise<Callable[]> {
  const mod = new URL("../../../mod.ts", import.meta.url).href;
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--json", mod],
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("Cannot read the public API: deno doc failed");
  const { nodes } = JSON.parse(new TextDecoder().decode(stdout));
  const symbols = Object.values(nodes as Record<string, { symbols: Symbol_[] }>)
    .flatMap(({ symbols }) => symbols);
  const attributes = attributesOf(symbols);
  return symbols.flatMap(({ name, declarations }) =>
    declarations.flatMap(({ kind, def }) => {
      if (kind === "class") return membersOf(name, def, attributes);
      if (kind !== "function") return [];
      return [make(name, undefined, "function", name, def.params ?? [], attributes)];
    })
  );
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

function membersOf(owner: string, def: Def, attributes: Attributes): Callable[] {
  const made: Callable[] = [];
  const add = (
    id: string,
    kind: Callable["kind"],
    name: string,
    params: readonly Param[],
  ): void => {
    if (made.some((callable) => callable.id === id)) return;
    made.push(make(id, owner, kind, name, params, attributes));
  };
  if (!def.isAbstract) {
    for (const { accessibility, params } of def.constructors ?? []) {
      if (accessibility === undefined) add(`new ${owner}`, "constructor", "constructor", params);
    }
  }
  for (
    const { name, kind, isStatic, accessibility, functionDef: { params } } of def.methods ?? []
  ) {
    // Symbols are called by the language and by console.log, and take nothing of the caller's.
    if (accessibility !== undefined || name.startsWith("[")) continue;
    if (kind === "getter") add(`${owner}#${name}`, "getter", name, []);
    else if (isStatic) add(`${owner}.${name}`, "static", name, params);
    else add(`${owner}#${name}`, "method", name, params);
  }
  return made;
}

function make(
  id: string,
  owner: string | undefined,
  kind: Callable["kind"],
  name: string,
  params: readonly Param[],
  attributes: Attributes,
): Callable {
  const types = params.map(({ tsType, left }) => tsType ?? left?.tsType);
  return { id, owner, kind, name, attributes: types.map(attributes) };
}
