import type { IbvCompCntr } from "../../ffi/handles.ts";
import type { CEnum } from "../../ffi/layout.ts";
import { members } from "../../ffi/members.ts";
import { uint64 } from "../../internal/checks.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { instance } from "../core/checks.ts";
import { nameOf } from "../core/enums.ts";
import { call } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { Context } from "../device/context.ts";

/**
 * What a `CompletionCounter` counts (`enum ibv_comp_cntr_type`).
 *
 * @category Completions
 */
export const CompCntrType: {
  /** Completed work requests. */
  readonly WRS: CEnum.ibv_comp_cntr_type.IBV_COMP_CNTR_TYPE_WRS;
  /** Completed bytes. */
  readonly BYTES: CEnum.ibv_comp_cntr_type.IBV_COMP_CNTR_TYPE_BYTES;
} = members("ibv_comp_cntr_type", "IBV_COMP_CNTR_TYPE_");
/**
 * A value of `CompCntrType`.
 *
 * @category Completions
 */
export type CompCntrType = typeof CompCntrType[keyof typeof CompCntrType];

/**
 * The operations of a queue pair whose completions a counter counts (`enum ibv_qp_attach_comp_cntr_op`). Combine them with
 * `|`.
 *
 * @category Completions
 */
export const QpAttachCompCntrOp: {
  /** Sends of this queue pair. */
  readonly SEND: CEnum.ibv_qp_attach_comp_cntr_op.IBV_QP_ATTACH_COMP_CNTR_OP_SEND;
  /** Receives of this queue pair. */
  readonly RECV: CEnum.ibv_qp_attach_comp_cntr_op.IBV_QP_ATTACH_COMP_CNTR_OP_RECV;
  /** RDMA reads of this queue pair. */
  readonly RDMA_READ: CEnum.ibv_qp_attach_comp_cntr_op.IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_READ;
  /** RDMA reads of the peer from memory of this side. */
  readonly REMOTE_RDMA_READ:
    CEnum.ibv_qp_attach_comp_cntr_op.IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ;
  /** RDMA writes of this queue pair. */
  readonly RDMA_WRITE: CEnum.ibv_qp_attach_comp_cntr_op.IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE;
  /** RDMA writes of the peer to memory of this side. */
  readonly REMOTE_RDMA_WRITE:
    CEnum.ibv_qp_attach_comp_cntr_op.IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE;
} = members("ibv_qp_attach_comp_cntr_op", "IBV_QP_ATTACH_COMP_CNTR_OP_");

const codec: AttributeCodec<{ readonly type: CompCntrType }> = codecOf(
  "ibv_comp_cntr_init_attr",
  "completion counter",
  { type: { values: CompCntrType } },
);

/**
 * A completion counter (`struct ibv_comp_cntr`, since rdma-core 65): the device counts the completions of queue pairs
 * in it that succeed, and those that fail. `QueuePair.attachCompCntr` attaches it, `Context.queryCompCntrCaps` reports
 * what the device supports.
 *
 * A counter that is disposed while queue pairs use it is destroyed with the last of them.
 *
 * @experimental Not tested on any device: it has only run on a library that records calls.
 * @category Completions
 */
export class CompletionCounter extends NativeResource<IbvCompCntr> {
  static readonly #KIND: NativeKind<IbvCompCntr, CompletionCounter> = {
    name: "completion counter",
    destroy: (handle) => call("ibv_destroy_comp_cntr", "destroy completion counter", [handle]),
    describe: ({ type }) => ({ type: nameOf(CompCntrType, type) }),
  };

  /** The device. */
  readonly context: Context;
  /** What it counts. */
  readonly type: CompCntrType;

  /**
   * Makes a counter (`ibv_create_comp_cntr`).
   *
   * @param type What it counts. The default is WRS.
   * @throws {RangeError} If there is no such type.
   * @throws {VerbsError} If the device refuses, or it or the installed libibverbs has no counters (EOPNOTSUPP).
   */
  constructor(context: Context, type: CompCntrType = CompCntrType.WRS) {
    instance(context, Context, "context");
    const { view } = codec.write({ type });
    const args = [context.unsafeHandle, view] as const;
    const handle = call("ibv_create_comp_cntr", "create completion counter", args, {
      detail: () => nameOf(CompCntrType, type),
    });
    super(CompletionCounter.#KIND, handle, [context]);
    this.context = context;
    this.type = type;
  }

  /** The count of successes (`ibv_read_comp_cntr`). A change may show only after a short time. */
  read(): bigint {
    return this.#read("ibv_read_comp_cntr");
  }

  /** The count of failures (`ibv_read_err_comp_cntr`). */
  readErr(): bigint {
    return this.#read("ibv_read_err_comp_cntr");
  }

  /** Sets the count of successes (`ibv_set_comp_cntr`), 64 bits. Completions meanwhile may be lost. */
  set(value: bigint | number): void {
    this.#write("ibv_set_comp_cntr", value, "value");
  }

  /** Sets the count of failures (`ibv_set_err_comp_cntr`), 64 bits. */
  setErr(value: bigint | number): void {
    this.#write("ibv_set_err_comp_cntr", value, "value");
  }

  /** Adds to the count of successes (`ibv_inc_comp_cntr`), 64 bits. */
  inc(amount: bigint | number): void {
    this.#write("ibv_inc_comp_cntr", amount, "amount");
  }

  /** Adds to the count of failures (`ibv_inc_err_comp_cntr`), 64 bits. */
  incErr(amount: bigint | number): void {
    this.#write("ibv_inc_err_comp_cntr", amount, "amount");
  }

  #read(verb: "ibv_read_comp_cntr" | "ibv_read_err_comp_cntr"): bigint {
    const value = new BigUint64Array(1);
    call(verb, "read completion counter", [this.unsafeHandle, value]);
    return value[0]!;
  }

  #write(
    verb: `ibv_${"set" | "inc"}_${"" | "err_"}comp_cntr`,
    value: bigint | number,
    name: string,
  ): void {
    const number = uint64(value, name);
    call(verb, "change completion counter", [this.unsafeHandle, number], {
      detail: () => `${name} ${number}`,
    });
  }
}
