// What the probes of ops share: the rows of static-inline verbs, and calls of them in C and here.
import { type Field, structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { rows } from "../../ffi/verbs.ts";
import type { AnyRow, NativeRow } from "../../ffi/table/row.ts";
import { compileC } from "../c/compile.ts";

/** A row of a verb behind an op. */
export type OpRow = Extract<NativeRow, { op: unknown }>;

/** The static-inline verbs of the header, without newer ones. */
export const opRows: [string, OpRow][] = Object.entries<AnyRow>(rows).filter(
  (entry): entry is [string, OpRow] => "op" in entry[1] && entry[1].since === undefined,
);

/** Those that check whether the op is there. */
export const guardedRows: [string, OpRow][] = opRows.filter(([, { hot }]) => !hot);

/** Verbs whose op takes the size of a struct as well. */
const SIZED = ["ibv_query_device_ex", "ibv_query_port"];

function parametersOf(name: string, { parameters }: OpRow): readonly unknown[] {
  return SIZED.includes(name) ? parameters.slice(0, -1) : parameters;
}

function isMemory(type: unknown): boolean {
  return type === "pointer" || type === "buffer";
}

function cArgument([of]: OpRow["op"]): string {
  return of === "ibv_context" ? "c" : of === "ibv_flow" ? "f" : "o";
}

function cCall(name: string, row: OpRow): string {
  const parameters = parametersOf(name, row);
  // the header has a window's address and its own out-parameters as any other argument
  const args = parameters.map((type, i) =>
    i === (row.object ?? 0) ? cArgument(row.op) : isMemory(type) ? "z" : "0"
  );
  return [name, ...args].join(",");
}

const list = (macro: string, entries: [string, OpRow][]): string =>
  entries.map(([name, row]) => `${macro}(${cCall(name, row)})`).join(" ");

/** The context and objects in C, and the header's functions on them. */
export const targets = Deno.dlopen(
  await compileC("op_targets.c", [
    "-shared",
    "-fPIC",
    // A null argument of a header's function may be one that it looks into.
    "-Wno-nonnull",
    `-DVERBS=${list("X", opRows)}`,
    `-DGUARDED=${list("G", guardedRows)}`,
  ]),
  {
    prepare: { parameters: [], result: "void" },
    prepare_lacking: { parameters: ["i32"], result: "void" },
    shrink_to: { parameters: ["i32", "i32"], result: "void" },
    context_of_targets: { parameters: [], result: "pointer" },
    object_of_targets: { parameters: [], result: "pointer" },
    flow_of_targets: { parameters: [], result: "pointer" },
    last_reached: { parameters: [], result: "i32" },
    header_reaches: { parameters: ["buffer"], result: "i32" },
    header_answers: { parameters: ["buffer", "buffer"], result: "i32" },
  },
).symbols;

function zero(type: unknown): unknown {
  if (type === "buffer") return new Uint8Array(512);
  if (type === "pointer") return Deno.UnsafePointer.of(new Uint8Array(512));
  return type === "u64" || type === "usize" ? 0n : 0;
}

function object([of]: OpRow["op"]): Deno.PointerValue {
  if (of === "ibv_context") return targets.context_of_targets();
  return of === "ibv_flow" ? targets.flow_of_targets() : targets.object_of_targets();
}

/** Calls a verb with zeros for all but its object. */
export function callVerb(name: string, row: OpRow): unknown {
  const args = parametersOf(name, row).map((type, i) =>
    i === (row.object ?? 0) ? object(row.op) : zero(type)
  );
  return (verbs() as unknown as Record<string, (...args: unknown[]) => unknown>)[name]!(...args);
}

/** Where an op lies in `verbs_context`; undefined if it is elsewhere. */
export function extendedOffset({ op: [, table, name] }: OpRow): number | undefined {
  const fields: Readonly<Record<string, Field>> = structs.verbs_context.fields;
  return table === "vctx" ? fields[name]!.offset : undefined;
}

/** A string as C has it. */
export function cString(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${text}\0`);
}
