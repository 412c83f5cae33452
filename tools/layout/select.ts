/**
 * Leaves out of the table what no verb needs: every line of it is read whenever the module is imported.
 *
 * @module
 */
import type { Layout, Struct } from "./model.ts";

/** Types of the kernel's interface that verbs.h includes: verbs have names of their own for those they use. */
const KERNEL = /^(ib_uverbs_|IB_UVERBS_|rdma_driver_id$)/;
/** Structs that only ever are parts of others, whose fields stand there. */
const PARTS = /^(_ibv_device_ops|ibv_context_ops|ibv_flow_spec)$/;
/** Fields that are frozen, and those of a struct that begins or ends another one and is in the table itself. */
const FIELDS = /^(_?ABI_placeholder\d|ops\._compat_\w+|context\..*|qp_base\..*)$/;

/** The part of a header's table that verbs are made of. */
export function select({ structs, enums, constants }: Layout): Layout {
  return {
    structs: mapped(without(structs, KERNEL, PARTS), selectFields),
    enums: without(enums, KERNEL),
    constants: without(constants, KERNEL),
  };
}

function selectFields({ size, fields }: Struct): Struct {
  return { size, fields: without(fields, FIELDS) };
}

function without<T>(
  table: Readonly<Record<string, T>>,
  ...patterns: readonly RegExp[]
): Record<string, T> {
  const entries = Object.entries(table);
  return Object.fromEntries(
    entries.filter(([name]) => !patterns.some((pattern) => pattern.test(name))),
  );
}

function mapped<T, R>(table: Record<string, T>, change: (value: T) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(table).map(([name, value]) => [name, change(value)]));
}
