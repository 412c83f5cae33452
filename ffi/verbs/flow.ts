/**
 * Flow steering, flow actions and counters.
 *
 * @module
 */

import type { IbvContext, IbvCounters, IbvFlow, IbvFlowAction, IbvQp } from "../handles.ts";
import { Buffer, Context, Counters, Flow, FlowAction, Qp } from "../parameters.ts";
import type { Table } from "../table/row.ts";

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
  ibv_create_flow: {
    op: ["ibv_qp", "vctx", "ibv_create_flow"],
    parameters: [Qp, Buffer],
    result: Flow,
    fails: "errno",
  },
  ibv_destroy_flow: {
    op: ["ibv_flow", "vctx", "ibv_destroy_flow"],
    parameters: [Flow],
    result: "i32",
    fails: "code",
  },
  ibv_create_flow_action_esp: {
    op: ["ibv_context", "vctx", "create_flow_action_esp"],
    parameters: [Context, Buffer],
    result: FlowAction,
    fails: "errno",
  },
  ibv_modify_flow_action_esp: {
    op: ["ibv_flow_action", "vctx", "modify_flow_action_esp"],
    parameters: [FlowAction, Buffer],
    result: "i32",
    fails: "code",
  },
  ibv_destroy_flow_action: {
    op: ["ibv_flow_action", "vctx", "destroy_flow_action"],
    parameters: [FlowAction],
    result: "i32",
    fails: "code",
  },
  ibv_create_counters: {
    op: ["ibv_context", "vctx", "create_counters"],
    parameters: [Context, Buffer],
    result: Counters,
    fails: "errno",
  },
  ibv_destroy_counters: {
    op: ["ibv_counters", "vctx", "destroy_counters"],
    parameters: [Counters],
    result: "i32",
    fails: "code",
  },
  ibv_attach_counters_point_flow: {
    op: ["ibv_counters", "vctx", "attach_counters_point_flow"],
    parameters: [Counters, Buffer, Flow],
    result: "i32",
    fails: "code",
  },
  ibv_read_counters: {
    op: ["ibv_counters", "vctx", "read_counters"],
    parameters: [Counters, Buffer, "u32", "u32"],
    result: "i32",
    fails: "code",
  },
};
