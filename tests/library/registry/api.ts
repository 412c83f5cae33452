// What of the public API can be called or read.

import * as cm from "../../../cm.ts";
import * as cli from "../../../cli/mod.ts";
import * as efa from "../../../efa.ts";
import * as ffi from "../../../ffi/mod.ts";
import * as net from "../../../net/mod.ts";
import * as verbs from "../../../mod.ts";
import * as rss from "../../../rss.ts";
import { Completions } from "../../../types/completion/completions.ts";
// Not testing.ts, which opens libibverbs before the recorder can take its place.
import * as leaks from "../../../types/testing/check_leaks.ts";
import * as devices from "../../../types/testing/why_no_device.ts";

type Module = Readonly<Record<string, unknown>>;

/** The modules of the public API; `rxe` sets up a guest and is no binding. */
export const MODULES = {
  // Of Completions only the type is exported.
  "mod.ts": { ...verbs, Completions } as Module,
  "rss.ts": rss as Module,
  "cm.ts": cm as Module,
  "efa.ts": efa as Module,
  "testing.ts": { ...leaks, ...devices } as Module,
  "net/mod.ts": net as Module,
  "cli/mod.ts": cli as Module,
  "ffi/mod.ts": ffi as Module,
} as const;

export type ModuleName = keyof typeof MODULES;

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
  /** How many parameters must be given. */
  readonly length: number;
}

/** Reads the API of all modules. What several of them export is that of the first. */
export function readApi(): Callable[] {
  const known = new Set<unknown>();
  return (Object.keys(MODULES) as ModuleName[]).flatMap((module) =>
    Object.entries(MODULES[module]).flatMap(([name, value]): Callable[] => {
      if (typeof value !== "function" || known.has(value)) return [];
      known.add(value);
      if (/^class\b/.test(`${value}`)) return membersOf(module, name, value);
      const { length } = value;
      return [{ module, id: name, owner: undefined, kind: "function", name, length }];
    })
  );
}

function membersOf(module: ModuleName, owner: string, type: { prototype: object }): Callable[] {
  const own = (
    object: object,
    kindOf: (descriptor: PropertyDescriptor) => Callable["kind"],
    separator: string,
  ): Callable[] =>
    Reflect.ownKeys(object).flatMap((key): Callable[] => {
      const name = typeof key === "symbol" ? `[${key.description}]` : key;
      // Only console.log calls those with other symbols, and it is a callable of each class here.
      if (typeof key === "symbol" && !name.startsWith("[Symbol.")) return [];
      const descriptor = Object.getOwnPropertyDescriptor(object, key)!;
      if (name === "constructor" || name === "prototype") return [];
      if (typeof (descriptor.get ?? descriptor.value) !== "function") return [];
      const id = `${owner}${separator}${name}`;
      const length: number = descriptor.value?.length ?? 0;
      return [{ module, id, owner, kind: kindOf(descriptor), name, length }];
    });
  const one = (id: string, kind: Callable["kind"], name: string): Callable => {
    return { module, id, owner, kind, name, length: 0 };
  };
  return [
    one(`new ${owner}`, "constructor", "constructor"),
    ...own(type, () => "static", "."),
    ...own(type.prototype, ({ get }) => get ? "getter" : "method", "#"),
    one(`${owner}#inspect`, "inspect", "inspect"),
  ];
}
