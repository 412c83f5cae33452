/** The verbs that are bound, with what their tables say. */

import type { Fails } from "../../ffi/table/row.ts";
import { rows } from "../../ffi/verbs.ts";

/** What `ffi/table/row.ts` lets a table say about a verb, as far as coverage needs it. */
export interface Row {
  readonly fails?: Fails;
  readonly op?: readonly [of: string, table: string, op: string];
  readonly object?: number;
  readonly hot?: true;
  readonly symbol?: string;
  readonly parameters?: readonly Deno.NativeType[];
  readonly result?: Deno.NativeResultType;
  readonly header?: unknown;
}

export interface Binding {
  readonly verb: string;
  readonly row: Row;
}

export function bindings(): Binding[] {
  return Object.entries<Row>(rows()).map(([verb, row]) => ({ verb, row }));
}
