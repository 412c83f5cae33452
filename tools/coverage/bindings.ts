/** The verbs that are bound, with what their tables say. */

import { rows } from "../../ffi/verbs.ts";

/** What a table says about a verb, as far as coverage needs it. */
export interface Row {
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
  readonly result?: Deno.NativeResultType;
  /** Makes the function, if it is one that the header defines. */
  readonly header?: unknown;
}

export interface Binding {
  readonly verb: string;
  readonly row: Row;
}

export function bindings(): Binding[] {
  return Object.entries<Row>(rows).map(([verb, row]) => ({ verb, row }));
}
