import type { IbvCompChannel, IbvContext, IbvCq } from "../handles.ts";
import { Address, Buffer, CompChannel, Context, Cq, Pointer } from "../parameters.ts";
import { exported, ops, type Table, vctx } from "../table/row.ts";

/**
 * Verbs of completion channels and completion queues.
 *
 * @category Prototypes of verbs
 */
export interface CqVerbs {
  /** `struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)` */
  ibv_create_comp_channel(context: IbvContext): IbvCompChannel | null;
  /** `int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)` */
  ibv_destroy_comp_channel(channel: IbvCompChannel): number;
  /** `int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)` */
  ibv_get_cq_event(channel: IbvCompChannel, cq: BufferSource, cq_context: BufferSource): number;
  /** `void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)` */
  ibv_ack_cq_events(cq: IbvCq, nevents: number): void;
  /**
   * `struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context, struct ibv_comp_channel *channel, int comp_vector)`
   */
  ibv_create_cq(
    context: IbvContext,
    cqe: number,
    cq_context: bigint,
    channel: IbvCompChannel | null,
    comp_vector: number,
  ): IbvCq | null;
  /** `int ibv_resize_cq(struct ibv_cq *cq, int cqe)` */
  ibv_resize_cq(cq: IbvCq, cqe: number): number;
  /** `int ibv_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)` */
  ibv_modify_cq(cq: IbvCq, attr: BufferSource): number;
  /** `int ibv_destroy_cq(struct ibv_cq *cq)` */
  ibv_destroy_cq(cq: IbvCq): number;
  /** `int ibv_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)` */
  ibv_poll_cq(cq: IbvCq, num_entries: number, wc: Deno.PointerValue): number;
  /** `int ibv_req_notify_cq(struct ibv_cq *cq, int solicited_only)` */
  ibv_req_notify_cq(cq: IbvCq, solicited_only: number): number;
  /** `const char *ibv_wc_status_str(enum ibv_wc_status status)` */
  ibv_wc_status_str(status: number): Deno.PointerValue;
}

/** The table of verbs of completion channels and completion queues. */
export const cqVerbs: Table<CqVerbs> = {
  ibv_create_comp_channel: exported([Context], CompChannel, "errno"),
  ibv_destroy_comp_channel: exported([CompChannel], "i32", "code"),
  ibv_get_cq_event: exported([CompChannel, Buffer, Buffer], "i32", "errno"),
  ibv_ack_cq_events: exported([Cq, "u32"], "void", "never"),
  ibv_create_cq: exported([Context, "i32", Address, CompChannel, "i32"], Cq, "errno"),
  ibv_resize_cq: exported([Cq, "i32"], "i32", "code"),
  ibv_modify_cq: vctx("ibv_cq", "modify_cq", [Cq, Buffer], "i32", "code"),
  ibv_destroy_cq: exported([Cq], "i32", "code"),
  ibv_poll_cq: ops("ibv_cq", "poll_cq", [Cq, "i32", Pointer], "i32", "negative", { hot: true }),
  ibv_req_notify_cq: ops("ibv_cq", "req_notify_cq", [Cq, "i32"], "i32", "code", { hot: true }),
  ibv_wc_status_str: exported(["u32"], Pointer, "never"),
};
