// Verbs whose op the provider lacks, in each of the ways in which it can be missing.
import { assertEquals } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import { errno, errnoName, type Field, type Struct, structs, verbs } from "../../../ffi/mod.ts";
import { rows as allRows } from "../../../ffi/verbs.ts";
import type { AnyRow, NativeRow, Op } from "../../../ffi/verbs/row.ts";

type OpRow = Extract<NativeRow, { op: Op }>;
type AnyVerb = (...args: unknown[]) => unknown;

const rows: [string, OpRow][] = Object.entries(allRows).flatMap(
  ([name, row]: [string, AnyRow]): [string, OpRow][] =>
    "parameters" in row && "op" in row && !row.hot && row.since === undefined
      ? [[name, row as OpRow]]
      : [],
);

/** Verbs that do without their op, as the header's own do. */
const FALLBACKS: Readonly<Record<string, string>> = {
  ibv_query_device_ex: "ibv_query_device",
  ibv_query_port: "ibv_query_port",
};

function call(name: string, ...args: unknown[]): Deno.PointerObject {
  const result = (verbs()[name as keyof ReturnType<typeof verbs>] as AnyVerb)(...args);
  if (typeof result !== "object" || result === null) throw new Error(`Cannot prepare: ${name}`);
  return result as Deno.PointerObject;
}

/** A zeroed struct with some fields. */
function struct(
  layout: Struct,
  values: Record<string, Deno.PointerObject | number> = {},
): DataView {
  const view = new DataView(new ArrayBuffer(layout.size));
  for (const [name, value] of Object.entries(values)) {
    const { offset, size }: Field = layout.fields[name]!;
    if (typeof value === "object") {
      view.setBigUint64(offset, Deno.UnsafePointer.value(value), true);
    } else if (size === 2) view.setUint16(offset, value, true);
    else view.setUint32(offset, value, true);
  }
  return view;
}

/** One object of each struct whose verbs have ops. */
function objects(): Record<string, Deno.PointerObject> {
  recorder.reset();
  const list = verbs().ibv_get_device_list(new Int32Array(1))!;
  const device = new Deno.UnsafePointerView(list).getPointer()!;
  const context = call("ibv_open_device", device);
  verbs().ibv_free_device_list(list);
  const pd = call("ibv_alloc_pd", context);
  const cq = call("ibv_create_cq", context, 4, 0n, null, 0);
  const qp = call("ibv_create_qp", pd, struct(structs.ibv_qp_init_attr));
  const wq = call("ibv_create_wq", context, struct(structs.ibv_wq_init_attr, { pd, cq }));
  const list1 = new BigUint64Array([Deno.UnsafePointer.value(wq)]);
  const table = struct(structs.ibv_rwq_ind_table_init_attr, {
    ind_tbl: Deno.UnsafePointer.of(list1)!,
  });
  const flow = struct(structs.ibv_flow_attr, { size: structs.ibv_flow_attr.size });
  return {
    ibv_context: context,
    ibv_pd: pd,
    ibv_cq: cq,
    ibv_qp: qp,
    ibv_wq: wq,
    ibv_rwq_ind_table: call("ibv_create_rwq_ind_table", context, table),
    ibv_srq: call("ibv_create_srq", pd, struct(structs.ibv_srq_init_attr)),
    ibv_xrcd: call("ibv_open_xrcd", context, struct(structs.ibv_xrcd_init_attr)),
    ibv_td: call("ibv_alloc_td", context, struct(structs.ibv_td_init_attr)),
    ibv_dm: call("ibv_alloc_dm", context, struct(structs.ibv_alloc_dm_attr)),
    ibv_mw: call("ibv_alloc_mw", pd, 1),
    ibv_flow: call("ibv_create_flow", qp, flow),
    ibv_flow_action: call(
      "ibv_create_flow_action_esp",
      context,
      struct(structs.ibv_flow_action_esp_attr),
    ),
    ibv_counters: call("ibv_create_counters", context, struct(structs.ibv_counters_init_attr)),
  };
}

function argument(type: Deno.NativeType): unknown {
  if (type === "pointer") return null;
  if (type === "buffer") return new Uint8Array(512);
  return type === "u64" || type === "usize" ? 0n : 0;
}

/** Calls a verb on an object, with zeros for everything else, and returns what it came to. */
function outcome(name: string, row: OpRow, on: Record<string, Deno.PointerObject>): unknown {
  const { op: [of], object = 0, parameters, fails } = row;
  const args = parameters.map((type) => argument(type as Deno.NativeType));
  args[object] = on[of];
  recorder.take();
  const result = (verbs()[name as keyof ReturnType<typeof verbs>] as AnyVerb)(...args);
  return fails === "errno" ? [result, errnoName(errno())] : errnoName(Number(result));
}

function expected({ fails, result }: OpRow): unknown {
  if (fails !== "errno") return "EOPNOTSUPP";
  return [result === "pointer" ? null : -1, "EOPNOTSUPP"];
}

function fieldOf([, table, op]: Op): string {
  return table === "ops" ? `ops.${op}` : op;
}

/** Makes the op of a verb missing. */
const WAYS: Record<string, (op: Op, of: string) => void> = {
  "its pointer is null": (op, of) => {
    if (op[1] === "own") recorder.overwrite(of === "ibv_dm" ? "dm0" : "wq0", op[2], 0n);
    else recorder.overwrite("context0", fieldOf(op), 0n);
  },
  "the context ends before it": (op) => {
    const { size, fields } = structs.verbs_context;
    const { offset } = (fields as Readonly<Record<string, Field>>)[op[2]]!;
    recorder.overwrite("context0", "sz", size - offset - 1);
  },
  "the context has no extended ops": () => recorder.overwrite("context0", "abi_compat", 0n),
};

for (const [way, remove] of Object.entries(WAYS)) {
  Deno.test(`A verb fails with EOPNOTSUPP, and reaches no provider, if ${way}`, () => {
    const tried = rows.filter(([, { op }]) => op[1] === "vctx" || way === "its pointer is null");
    for (const [name, row] of tried) {
      const on = objects();
      remove(row.op, row.op[0]);
      const came = outcome(name, row, on);
      const reached = recorder.take().map(({ verb }) => verb);
      const fallback = FALLBACKS[name];
      assertEquals(reached, fallback === undefined ? [] : [fallback], name);
      if (fallback === undefined) assertEquals(came, expected(row), name);
      assertEquals(recorder.violations(), [], name);
    }
  });
}

Deno.test("A context that ends right after an op has it", () => {
  for (const [name, row] of rows.filter(([, { op }]) => op[1] === "vctx")) {
    const on = objects();
    const { size, fields } = structs.verbs_context;
    const { offset } = (fields as Readonly<Record<string, Field>>)[row.op[2]]!;
    recorder.overwrite("context0", "sz", size - offset);
    outcome(name, row, on);
    recorder.violations();
    assertEquals(recorder.take().length, 1, name);
  }
});
