/** Where the verbs are bound: the tables in `ffi/verbs/`. */

import { project, sourcesIn } from "../host/paths.ts";

/** What a table says about a verb, as far as coverage needs it. */
export interface Row {
  /** How the verb reports failure. */
  readonly fails?: "errno" | "code" | "negative" | "never";
  /** Where its function pointer lives. */
  readonly op?: readonly [of: string, table: string, op: string];
  /** The argument that is the object of the op; the first one if left out. */
  readonly object?: number;
  /** Whether it is not guarded. */
  readonly hot?: true;
  /** Its symbol, if that has another name. */
  readonly symbol?: string;
  /** A symbol that is at least as new, if the verb is newer than the header. */
  readonly since?: string;
  /** Its parameters, if it has a native function of its own. */
  readonly parameters?: readonly Deno.NativeType[];
  /** The type of its result. */
  readonly result?: Deno.NativeResultType;
  /** Makes the function, if it is one that the header defines. */
  readonly header?: unknown;
}

/** A verb that is bound. */
export interface Binding {
  readonly verb: string;
  /** The file of its table. */
  readonly file: string;
  readonly row: Row;
}

/** Every verb that a table in `ffi/verbs/` has. */
export async function bindings(): Promise<Binding[]> {
  return (await Promise.all(sourcesIn("ffi/verbs").map(bindingsOf))).flat();
}

async function bindingsOf(file: string): Promise<Binding[]> {
  const module: Record<string, unknown> = await import(`${project}/${file}`);
  return Object.values(module).filter(isTable).flatMap((table) =>
    Object.entries(table).map(([verb, row]) => ({ verb, file, row }))
  );
}

function isTable(value: unknown): value is Record<string, Row> {
  return typeof value === "object" && value !== null &&
    Object.values(value).every((row) =>
      typeof row === "object" && row !== null && ("parameters" in row || "header" in row)
    );
}

/** How a verb is reached, in a few words. */
export function reachedBy({ op, parameters }: Row): string {
  if (op === undefined) return parameters === undefined ? "own code" : "symbol";
  const [of, table, name] = op;
  if (table === "own") return `${of}.${name}`;
  return table === "ops" ? `ibv_context.ops.${name}` : `verbs_context.${name}`;
}
