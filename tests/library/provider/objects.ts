// Objects on the recorder, made without the classes.

import * as recorder from "../../provider/recorder.ts";
import { type Field, type Struct, structs, verbs } from "../../../ffi/mod.ts";

/** Any verb. */
export type AnyVerb = (...args: unknown[]) => unknown;

function call(name: string, ...args: unknown[]): Deno.PointerObject {
  const result = (verbs()[name as keyof ReturnType<typeof verbs>] as AnyVerb)(...args);
  if (typeof result !== "object" || result === null) throw new Error(`Cannot prepare: ${name}`);
  return result as Deno.PointerObject;
}

type Values = Readonly<Record<string, Deno.PointerObject | number>>;

/** A zeroed struct with some fields. */
function struct({ size, fields }: Struct, values: Values = {}): DataView {
  const view = new DataView(new ArrayBuffer(size));
  for (const [name, value] of Object.entries(values)) {
    const { offset, size }: Field = fields[name]!;
    if (typeof value === "object") {
      view.setBigUint64(offset, Deno.UnsafePointer.value(value), true);
    } else if (size === 2) view.setUint16(offset, value, true);
    else view.setUint32(offset, value, true);
  }
  return view;
}

/** Resets the recorder and makes one object of each struct whose verbs have ops, by the struct's tag. */
export function objects(): Record<string, Deno.PointerObject> {
  recorder.reset();
  const list = verbs().ibv_get_device_list(new Int32Array(1))!;
  const device = new Deno.UnsafePointerView(list).getPointer()!;
  const context = call("ibv_open_device", device);
  verbs().ibv_free_device_list(list);
  const pd = call("ibv_alloc_pd", context);
  const cq = call("ibv_create_cq", context, 4, 0n, null, 0);
  const qp = call("ibv_create_qp", pd, struct(structs.ibv_qp_init_attr));
  const wq = call("ibv_create_wq", context, struct(structs.ibv_wq_init_attr, { pd, cq }));
  const queues = new BigUint64Array([Deno.UnsafePointer.value(wq)]);
  const table = { ind_tbl: Deno.UnsafePointer.of(queues)! };
  const flow = { size: structs.ibv_flow_attr.size };
  return {
    ibv_context: context,
    ibv_pd: pd,
    ibv_cq: cq,
    ibv_cq_ex: call("ibv_create_cq_ex", context, struct(structs.ibv_cq_init_attr_ex)),
    ibv_qp: qp,
    ibv_qp_ex: qpEx(context, pd),
    ibv_wq: wq,
    ibv_rwq_ind_table: call(
      "ibv_create_rwq_ind_table",
      context,
      struct(structs.ibv_rwq_ind_table_init_attr, table),
    ),
    ibv_srq: call("ibv_create_srq", pd, struct(structs.ibv_srq_init_attr)),
    ibv_xrcd: call("ibv_open_xrcd", context, struct(structs.ibv_xrcd_init_attr)),
    ibv_td: call("ibv_alloc_td", context, struct(structs.ibv_td_init_attr)),
    ibv_dm: call("ibv_alloc_dm", context, struct(structs.ibv_alloc_dm_attr)),
    ibv_mw: call("ibv_alloc_mw", pd, 1),
    ibv_flow: call("ibv_create_flow", qp, struct(structs.ibv_flow_attr, flow)),
    ibv_flow_action: call(
      "ibv_create_flow_action_esp",
      context,
      struct(structs.ibv_flow_action_esp_attr),
    ),
    ibv_counters: call("ibv_create_counters", context, struct(structs.ibv_counters_init_attr)),
  };
}

function qpEx(context: Deno.PointerObject, pd: Deno.PointerObject): Deno.PointerObject {
  const PD_AND_SEND_OPS_FLAGS = 0x41;
  const attr = struct(structs.ibv_qp_init_attr_ex, { comp_mask: PD_AND_SEND_OPS_FLAGS, pd });
  return call("ibv_qp_to_qp_ex", call("ibv_create_qp_ex", context, attr));
}
