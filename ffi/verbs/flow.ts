import type { IbvContext, IbvCounters, IbvFlow, IbvFlowAction, IbvQp } from "../handles.ts";
import { Buffer, Context, Counters, Flow, FlowAction, Qp } from "../parameters.ts";
import { type Table, vctx } from "../table/row.ts";

/**
 * Verbs of flow steering, flow actions and counters.
 *
 * @category Prototypes of verbs
 */
export interface FlowVerbs {
  /** `struct ibv_flow *ibv_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *flow)` */
  ibv_create_flow(qp: IbvQp, flow: BufferSource): IbvFlow | null;
  /** `int ibv_destroy_flow(struct ibv_flow *flow_id)` */
  ibv_destroy_flow(flow_id: IbvFlow): number;
  /**
   * `struct ibv_flow_action *ibv_create_flow_action_esp(struct ibv_context *ctx, struct ibv_flow_action_esp_attr *esp)`
   */
  ibv_create_flow_action_esp(ctx: IbvContext, esp: BufferSource): IbvFlowAction | null;
  /** `int ibv_modify_flow_action_esp(struct ibv_flow_action *action, struct ibv_flow_action_esp_attr *esp)` */
  ibv_modify_flow_action_esp(action: IbvFlowAction, esp: BufferSource): number;
  /** `int ibv_destroy_flow_action(struct ibv_flow_action *action)` */
  ibv_destroy_flow_action(action: IbvFlowAction): number;
  /**
   * `struct ibv_counters *ibv_create_counters(struct ibv_context *context, struct ibv_counters_init_attr *init_attr)`
   */
  ibv_create_counters(context: IbvContext, init_attr: BufferSource): IbvCounters | null;
  /** `int ibv_destroy_counters(struct ibv_counters *counters)` */
  ibv_destroy_counters(counters: IbvCounters): number;
  /**
   * `int ibv_attach_counters_point_flow(struct ibv_counters *counters, struct ibv_counter_attach_attr *attr, struct ibv_flow *flow)`
   */
  ibv_attach_counters_point_flow(counters: IbvCounters, attr: BufferSource, flow: IbvFlow): number;
  /**
   * `int ibv_read_counters(struct ibv_counters *counters, uint64_t *counters_value, uint32_t ncounters, uint32_t flags)`
   */
  ibv_read_counters(
    counters: IbvCounters,
    counters_value: BufferSource,
    ncounters: number,
    flags: number,
  ): number;
}

/** The table of verbs of flow steering, flow actions and counters. */
export const flowVerbs: Table<FlowVerbs> = {
  ibv_create_flow: vctx("ibv_qp", "ibv_create_flow", [Qp, Buffer], Flow, "errno"),
  ibv_destroy_flow: vctx("ibv_flow", "ibv_destroy_flow", [Flow], "i32", "code"),
  ibv_create_flow_action_esp: vctx(
    "ibv_context",
    "create_flow_action_esp",
    [Context, Buffer],
    FlowAction,
    "errno",
  ),
  ibv_modify_flow_action_esp: vctx(
    "ibv_flow_action",
    "modify_flow_action_esp",
    [FlowAction, Buffer],
    "i32",
    "code",
  ),
  ibv_destroy_flow_action: vctx(
    "ibv_flow_action",
    "destroy_flow_action",
    [FlowAction],
    "i32",
    "code",
  ),
  ibv_create_counters: vctx("ibv_context", "create_counters", [Context, Buffer], Counters, "errno"),
  ibv_destroy_counters: vctx("ibv_counters", "destroy_counters", [Counters], "i32", "code"),
  ibv_attach_counters_point_flow: vctx(
    "ibv_counters",
    "attach_counters_point_flow",
    [Counters, Buffer, Flow],
    "i32",
    "code",
  ),
  ibv_read_counters: vctx(
    "ibv_counters",
    "read_counters",
    [Counters, Buffer, "u32", "u32"],
    "i32",
    "code",
  ),
};
