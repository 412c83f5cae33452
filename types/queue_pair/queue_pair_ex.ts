import type { IbvQpEx } from "../../ffi/handles.ts";
import { verbs } from "../../ffi/library.ts";
import { hasOwnOp } from "../../ffi/library/ops.ts";
import type { OwnOps } from "../../ffi/table/row.ts";
import { made, partsIn } from "../../internal/made.ts";
import { lacking } from "../core/errors.ts";
import { assertOpen } from "../core/resource.ts";
import type { ProtectionDomain } from "../memory/protection_domain.ts";
import { setOf } from "../work/attributes.ts";
import { WrOpcode } from "../work/work_request.ts";
import { QpType, SendOpsFlags } from "./qp_enums.ts";
import { copyQpInit, type QpInitAttr } from "./qp_init_attr.ts";
import { type ProviderQp, qpCore, QueuePair } from "./queue_pair.ts";
import { type Begun, WrBuilder } from "./wr_builder.ts";
import { WrPoster } from "./wr_poster.ts";

/**
 * Attributes of a new extended queue pair.
 *
 * @category Queue pairs
 */
export type QpInitAttrEx = QpInitAttr & {
  /** `SendOpsFlags`, combined with `|`: the operations that the builder offers. */
  readonly sendOpsFlags: number;
};

/**
 * An extended queue pair (`struct ibv_qp_ex`). It is a queue pair whose sends can also be built attribute by attribute,
 * see `WrBuilder`.
 *
 * @example A queue pair for RDMA writes
 * ```ts
 * import { type CompletionQueue, type ProtectionDomain, QpType, QueuePairEx, SendOpsFlags } from "@rdma/ibverbs";
 *
 * function writer(pd: ProtectionDomain, cq: CompletionQueue): QueuePairEx {
 *   const cap = { maxSendWr: 16, maxRecvWr: 16 };
 *   const sendOpsFlags = SendOpsFlags.RDMA_WRITE;
 *   return new QueuePairEx(pd, { qpType: QpType.RC, sendCq: cq, recvCq: cq, cap, sendOpsFlags });
 * }
 * ```
 *
 * @category Queue pairs
 */
export class QueuePairEx extends QueuePair {
  readonly #handle: IbvQpEx;
  readonly #opcodes: number;
  #poster: WrPoster | undefined;

  /**
   * Makes an extended queue pair (`ibv_create_qp_ex`, `ibv_qp_to_qp_ex`).
   *
   * @throws {TypeError} As the constructor of `QueuePair`; if `sendOpsFlags` is missing.
   * @throws {RangeError} As the constructor of `QueuePair`.
   * @throws {VerbsError} As the constructor of `QueuePair`; EOPNOTSUPP if the provider has no builders, or not these
   * operations.
   */
  constructor(pd: ProtectionDomain, init: QpInitAttrEx) {
    const other = partsIn<ProviderQp<QpInitAttrEx>>(init);
    const given = withSendOps(other?.init ?? init);
    super(pd, made<ProviderQp>({ init: given, provider: other?.provider }));
    const { type, sendOpsFlags = 0 } = qpCore(this);
    const handle = verbs().ibv_qp_to_qp_ex(this.unsafeHandle);
    const asked = NAMES.filter((name) => sendOpsFlags & SendOpsFlags[name]);
    const ops = [...SETTERS, ...asked.map(opOf), ...RECEIVER[type] ?? []];
    const missing = handle === null
      ? "qp_to_qp_ex"
      : ops.find((op) => !hasOwnOp(handle, "ibv_qp_ex", op));
    if (missing !== undefined) {
      this.close();
      throw lacking(`ibv_${missing}`, "create extended queue pair");
    }
    this.#handle = handle!;
    // Verbs of builders are not guarded: a provider has a null pointer for an operation that the queue pair was not
    // made for.
    this.#opcodes = setOf(...asked.map((name) => WrOpcode[name]));
  }

  /**
   * Starts a builder of work requests. It aborts the builder that was started before, unless that is complete. Native code
   * is reached only by `WrBuilder.complete`.
   *
   * @throws {TypeError} If the queue pair is disposed, or has no send queue.
   */
  wrStart(): WrBuilder {
    assertOpen(this);
    const poster = this.#poster ??= new WrPoster(this, this.#handle);
    return new WrBuilder(made<Begun>({ poster, opcodes: this.#opcodes }));
  }
}

function withSendOps(init: QpInitAttrEx): QpInitAttrEx {
  const given = copyQpInit(init);
  if (given.sendOpsFlags !== undefined) return given;
  throw new TypeError("Cannot create extended queue pair: sendOpsFlags is missing");
}

type Op = OwnOps["ibv_qp_ex"];

const NAMES = Object.keys(SendOpsFlags) as (keyof typeof SendOpsFlags)[];

/** The op of an operation: `wr_rdma_write_imm` for RDMA_WRITE_WITH_IMM. */
function opOf(name: string): Op {
  return `wr_${name.toLowerCase()}`.replace(/_(with|and)_/, "_").replace("tso", "send_tso") as Op;
}

/** The ops that every builder uses. */
const SETTERS: readonly Op[] = [
  "wr_start",
  "wr_complete",
  "wr_abort",
  "wr_set_sge",
  "wr_set_sge_list",
  "wr_set_inline_data",
  "wr_set_inline_data_list",
];

/** The ops that set the receiver, by transport. */
const RECEIVER: { readonly [type: number]: readonly Op[] } = {
  [QpType.UD]: ["wr_set_ud_addr"],
  [QpType.DRIVER]: ["wr_set_ud_addr"],
  [QpType.XRC_SEND]: ["wr_set_xrc_srqn"],
};
