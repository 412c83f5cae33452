import { type CEnum, structs } from "../../ffi/layout.ts";
import { members } from "../../ffi/members.ts";
import { verbs } from "../../ffi/library.ts";
import { textOrUnknown } from "../../ffi/pointers.ts";
import { integer } from "../../internal/checks.ts";
import { instance } from "../core/checks.ts";
import { nameOf, namesOf } from "../core/enums.ts";
import { hintFailure } from "./failure_hints.ts";

const { fields } = structs.ibv_wc;

/**
 * Result of a work request (`enum ibv_wc_status`).
 *
 * @category Completions
 */
export const WcStatus: {
  /** The request succeeded. */
  readonly SUCCESS: CEnum.ibv_wc_status.IBV_WC_SUCCESS;
  /** A local buffer is too small, or the message is too long. */
  readonly LOC_LEN_ERR: CEnum.ibv_wc_status.IBV_WC_LOC_LEN_ERR;
  /** The queue pair could not execute the request, for instance because its address handle was destroyed. */
  readonly LOC_QP_OP_ERR: CEnum.ibv_wc_status.IBV_WC_LOC_QP_OP_ERR;
  /**
   * An end-to-end context could not execute the request. Only reliable datagrams have such contexts, and no device has
   * them.
   */
  readonly LOC_EEC_OP_ERR: CEnum.ibv_wc_status.IBV_WC_LOC_EEC_OP_ERR;
  /** A local buffer is not within its memory region. */
  readonly LOC_PROT_ERR: CEnum.ibv_wc_status.IBV_WC_LOC_PROT_ERR;
  /** The request was not executed, because the queue pair was in an error state. */
  readonly WR_FLUSH_ERR: CEnum.ibv_wc_status.IBV_WC_WR_FLUSH_ERR;
  /** A memory window could not be bound. */
  readonly MW_BIND_ERR: CEnum.ibv_wc_status.IBV_WC_MW_BIND_ERR;
  /** The peer's response was unexpected. */
  readonly BAD_RESP_ERR: CEnum.ibv_wc_status.IBV_WC_BAD_RESP_ERR;
  /** A local buffer lacks the access that the request needs. */
  readonly LOC_ACCESS_ERR: CEnum.ibv_wc_status.IBV_WC_LOC_ACCESS_ERR;
  /** The peer refused the request as invalid. */
  readonly REM_INV_REQ_ERR: CEnum.ibv_wc_status.IBV_WC_REM_INV_REQ_ERR;
  /** The peer's memory region lacks the access that the request needs. */
  readonly REM_ACCESS_ERR: CEnum.ibv_wc_status.IBV_WC_REM_ACCESS_ERR;
  /** The peer could not execute the request. */
  readonly REM_OP_ERR: CEnum.ibv_wc_status.IBV_WC_REM_OP_ERR;
  /** The peer did not answer. */
  readonly RETRY_EXC_ERR: CEnum.ibv_wc_status.IBV_WC_RETRY_EXC_ERR;
  /** The peer had no receive posted. */
  readonly RNR_RETRY_EXC_ERR: CEnum.ibv_wc_status.IBV_WC_RNR_RETRY_EXC_ERR;
  /** The domains of a reliable datagram do not match. */
  readonly LOC_RDD_VIOL_ERR: CEnum.ibv_wc_status.IBV_WC_LOC_RDD_VIOL_ERR;
  /** The peer refused a reliable datagram as invalid. */
  readonly REM_INV_RD_REQ_ERR: CEnum.ibv_wc_status.IBV_WC_REM_INV_RD_REQ_ERR;
  /** The peer aborted the operation. */
  readonly REM_ABORT_ERR: CEnum.ibv_wc_status.IBV_WC_REM_ABORT_ERR;
  /** A reliable datagram names an end-to-end context that does not exist. */
  readonly INV_EECN_ERR: CEnum.ibv_wc_status.IBV_WC_INV_EECN_ERR;
  /** The end-to-end context of a reliable datagram is in the wrong state. */
  readonly INV_EEC_STATE_ERR: CEnum.ibv_wc_status.IBV_WC_INV_EEC_STATE_ERR;
  /** The device failed. */
  readonly FATAL_ERR: CEnum.ibv_wc_status.IBV_WC_FATAL_ERR;
  /** The response came too late. */
  readonly RESP_TIMEOUT_ERR: CEnum.ibv_wc_status.IBV_WC_RESP_TIMEOUT_ERR;
  /** Any other error. */
  readonly GENERAL_ERR: CEnum.ibv_wc_status.IBV_WC_GENERAL_ERR;
  /** Tag matching failed. */
  readonly TM_ERR: CEnum.ibv_wc_status.IBV_WC_TM_ERR;
  /** The receive matched a tag, and the program must finish the transfer of the message. */
  readonly TM_RNDV_INCOMPLETE: CEnum.ibv_wc_status.IBV_WC_TM_RNDV_INCOMPLETE;
} = members("ibv_wc_status", "IBV_WC_");
/**
 * A value of `WcStatus`.
 *
 * @category Completions
 */
export type WcStatus = typeof WcStatus[keyof typeof WcStatus];

/**
 * A status in the words of libibverbs (`ibv_wc_status_str`), such as `"local length error"`.
 *
 * @category Completions
 */
export function wcStatusStr(status: WcStatus): string {
  return textOrUnknown(verbs().ibv_wc_status_str(integer(status, "status", 0, 0x7fff_ffff)));
}

/**
 * Kind of a completed request (`enum ibv_wc_opcode`). It is valid if the status is SUCCESS.
 *
 * @category Completions
 */
export const WcOpcode: {
  /** A send of this side has ended. */
  readonly SEND: CEnum.ibv_wc_opcode.IBV_WC_SEND;
  /** An RDMA write of this side has ended. */
  readonly RDMA_WRITE: CEnum.ibv_wc_opcode.IBV_WC_RDMA_WRITE;
  /** An RDMA read of this side has ended. */
  readonly RDMA_READ: CEnum.ibv_wc_opcode.IBV_WC_RDMA_READ;
  /** An atomic compare and swap of this side has ended. */
  readonly COMP_SWAP: CEnum.ibv_wc_opcode.IBV_WC_COMP_SWAP;
  /** An atomic addition of this side has ended. */
  readonly FETCH_ADD: CEnum.ibv_wc_opcode.IBV_WC_FETCH_ADD;
  /** A memory window is bound. */
  readonly BIND_MW: CEnum.ibv_wc_opcode.IBV_WC_BIND_MW;
  /** An rkey of this side is invalidated. */
  readonly LOCAL_INV: CEnum.ibv_wc_opcode.IBV_WC_LOCAL_INV;
  /** A send that the device segments has ended. */
  readonly TSO: CEnum.ibv_wc_opcode.IBV_WC_TSO;
  /** A flush of this side has ended. */
  readonly FLUSH: CEnum.ibv_wc_opcode.IBV_WC_FLUSH;
  /** An atomic write of this side has ended. */
  readonly ATOMIC_WRITE: CEnum.ibv_wc_opcode.IBV_WC_ATOMIC_WRITE;
  /** A receive got a message. */
  readonly RECV: CEnum.ibv_wc_opcode.IBV_WC_RECV;
  /** A receive got the immediate data of an RDMA write of the peer. */
  readonly RECV_RDMA_WITH_IMM: CEnum.ibv_wc_opcode.IBV_WC_RECV_RDMA_WITH_IMM;
  /** Tag matching: a receive is in the list of tags. */
  readonly TM_ADD: CEnum.ibv_wc_opcode.IBV_WC_TM_ADD;
  /** Tag matching: a receive is removed from the list of tags. */
  readonly TM_DEL: CEnum.ibv_wc_opcode.IBV_WC_TM_DEL;
  /** Tag matching: the device knows how many unexpected messages were handled. */
  readonly TM_SYNC: CEnum.ibv_wc_opcode.IBV_WC_TM_SYNC;
  /** Tag matching: a message came, or a receive matched it. The flags say which. */
  readonly TM_RECV: CEnum.ibv_wc_opcode.IBV_WC_TM_RECV;
  /** Tag matching: a message without a tag came. */
  readonly TM_NO_TAG: CEnum.ibv_wc_opcode.IBV_WC_TM_NO_TAG;
  /** An operation of the provider. */
  readonly DRIVER1: CEnum.ibv_wc_opcode.IBV_WC_DRIVER1;
  /** An operation of the provider. */
  readonly DRIVER2: CEnum.ibv_wc_opcode.IBV_WC_DRIVER2;
  /** An operation of the provider. */
  readonly DRIVER3: CEnum.ibv_wc_opcode.IBV_WC_DRIVER3;
} = members("ibv_wc_opcode", "IBV_WC_");
/**
 * A value of `WcOpcode`.
 *
 * @category Completions
 */
export type WcOpcode = typeof WcOpcode[keyof typeof WcOpcode];

/**
 * Flags of a completion (`enum ibv_wc_flags`), combined with `|`.
 *
 * @category Completions
 */
export const WcFlags: {
  /** The buffer of a UD receive starts with a GRH (rxe sets it for every receive). */
  readonly GRH: CEnum.ibv_wc_flags.IBV_WC_GRH;
  /** `immData` is valid. */
  readonly WITH_IMM: CEnum.ibv_wc_flags.IBV_WC_WITH_IMM;
  /** The device verified the checksums of a raw packet. */
  readonly IP_CSUM_OK: CEnum.ibv_wc_flags.IBV_WC_IP_CSUM_OK;
  /** `invalidatedRkey` is valid. */
  readonly WITH_INV: CEnum.ibv_wc_flags.IBV_WC_WITH_INV;
  /** Tag matching: the program has to report how many unexpected messages it handled. */
  readonly TM_SYNC_REQ: CEnum.ibv_wc_flags.IBV_WC_TM_SYNC_REQ;
  /** Tag matching: the message matched the tag of a receive. */
  readonly TM_MATCH: CEnum.ibv_wc_flags.IBV_WC_TM_MATCH;
  /** Tag matching: the memory of the receive has the data of the message. */
  readonly TM_DATA_VALID: CEnum.ibv_wc_flags.IBV_WC_TM_DATA_VALID;
} = members("ibv_wc_flags", "IBV_WC_");

/**
 * The attributes of a completion that `ibv_init_ah_from_wc` reads. A `WorkCompletion` has them.
 *
 * @category Completions
 */
export interface WcAddress {
  /** `WcFlags`, combined. With `GRH` the peer's GID is taken from the GRH. */
  readonly wcFlags: number;
  /** LID of the sender, 16 bits. It is 0 on RoCE. */
  readonly slid: number;
  /** Service level, 0 to 15. */
  readonly sl: number;
  /** Low bits of the LID that the packet was sent to. They are 0 on RoCE. */
  readonly dlidPathBits: number;
}

/**
 * The result of a work request (`struct ibv_wc`). If `status` is not SUCCESS, only `wrId`, `status`, `qpNum` and
 * `vendorErr` are valid.
 *
 * `WorkCompletion.check` throws if the request failed. The object is a copy:
 * later polls do not change it.
 *
 * @example Reading a completion
 * ```ts
 * import { WcFlags, WcOpcode, type WorkCompletion } from "@rdma/ibverbs";
 *
 * function report(wc: WorkCompletion): void {
 *   const { opcode, wrId, byteLen, wcFlags, immData } = wc.check(); // throws if the request failed
 *   if (opcode === WcOpcode.RECV) console.log(`receive ${wrId} got ${byteLen} bytes`);
 *   if (wcFlags & WcFlags.WITH_IMM) console.log(`immediate data ${immData}`);
 * }
 * ```
 *
 * @category Completions
 */
export class WorkCompletion implements WcAddress {
  /** The `wrId` of the request. */
  readonly wrId: bigint;
  /** Result. */
  readonly status: WcStatus;
  /** Kind of request. */
  readonly opcode: WcOpcode;
  /** Error code of the vendor. */
  readonly vendorErr: number;
  /** Bytes received. On a UD queue pair they include the 40 bytes of the GRH. It is not valid for sends. */
  readonly byteLen: number;
  /** Immediate data in host order. It is valid with `WcFlags`.WITH_IMM. */
  readonly immData: number;
  /** The rkey that the peer's send invalidated. It is valid with `WcFlags`.WITH_INV. */
  readonly invalidatedRkey: number;
  /** Number of the local queue pair, 24 bits. */
  readonly qpNum: number;
  /** Number of the sender's queue pair, 24 bits. It is valid on UD queue pairs. */
  readonly srcQp: number;
  /** `WcFlags`, combined. */
  readonly wcFlags: number;
  /** Index of the P_Key of the packet. It is valid on GSI queue pairs. */
  readonly pkeyIndex: number;
  /** LID of the sender. It is valid on UD queue pairs of InfiniBand. */
  readonly slid: number;
  /** Service level. It is valid on UD queue pairs. */
  readonly sl: number;
  /** Low bits of the LID that the packet was sent to. They are valid on UD queue pairs of InfiniBand. */
  readonly dlidPathBits: number;

  // Own attributes can be compared, spread and cloned.
  /** @ignore Copies a `struct ibv_wc` that starts at a byte offset of a view. */
  constructor(view: DataView, base: number) {
    this.wrId = view.getBigUint64(base + fields.wr_id.offset, true);
    this.status = view.getUint32(base + fields.status.offset, true) as WcStatus;
    this.opcode = view.getUint32(base + fields.opcode.offset, true) as WcOpcode;
    this.vendorErr = view.getUint32(base + fields.vendor_err.offset, true);
    this.byteLen = view.getUint32(base + fields.byte_len.offset, true);
    this.immData = view.getUint32(base + fields.imm_data.offset);
    this.invalidatedRkey = view.getUint32(base + fields.invalidated_rkey.offset, true);
    this.qpNum = view.getUint32(base + fields.qp_num.offset, true);
    this.srcQp = view.getUint32(base + fields.src_qp.offset, true);
    this.wcFlags = view.getUint32(base + fields.wc_flags.offset, true);
    this.pkeyIndex = view.getUint16(base + fields.pkey_index.offset, true);
    this.slid = view.getUint16(base + fields.slid.offset, true);
    this.sl = view.getUint8(base + fields.sl.offset);
    this.dlidPathBits = view.getUint8(base + fields.dlid_path_bits.offset);
  }

  /** Whether the status is SUCCESS. */
  get ok(): boolean {
    return this.status === WcStatus.SUCCESS;
  }

  /**
   * Returns the completion if it succeeded.
   *
   * @throws {WorkCompletionError} If its status is not SUCCESS.
   */
  check(): this {
    if (!this.ok) throw new WorkCompletionError(this);
    return this;
  }

  /** The attributes that matter, on one line, for `console.log`. */
  [Symbol.for("Deno.customInspect")](): string {
    return this.toString();
  }

  /** The attributes that matter, on one line. */
  toString(): string {
    const what = this.ok
      ? `opcode: ${nameOf(WcOpcode, this.opcode)}, byteLen: ${this.byteLen}, ` +
        `wcFlags: ${namesOf(WcFlags, this.wcFlags)}` +
        (this.srcQp === 0 ? "" : `, srcQp: ${this.srcQp}`)
      : `vendorErr: ${this.vendorErr}`;
    const status = nameOf(WcStatus, this.status);
    return `${this.constructor.name} { wrId: ${this.wrId}n, status: ${status}, qpNum: ${this.qpNum}, ${what} }`;
  }
}

/**
 * The error of a completion whose status is not SUCCESS.
 *
 * @category Errors
 */
export class WorkCompletionError extends Error {
  /** The error's name. */
  override readonly name = "WorkCompletionError";
  /** The completion. */
  readonly completion: WorkCompletion;
  /** The name of the status, such as `"WR_FLUSH_ERR"`. */
  readonly code: string;
  /**
   * The likely cause. If the queue pair of the completion is open in this thread, it depends on the state of its port
   * and its address; otherwise it is the usual cause of the status. `undefined` if there is none.
   */
  readonly hint: string | undefined;

  /** Makes the error of a completion. */
  constructor(completion: WorkCompletion) {
    const code = nameOf(WcStatus, instance(completion, WorkCompletion, "completion").status);
    const hint = hintFailure(completion.qpNum, code);
    const vendor = completion.vendorErr === 0 ? "" : `, vendor error ${completion.vendorErr}`;
    super(
      `Work request ${completion.wrId} on queue pair ${completion.qpNum} failed: ${code}${vendor}` +
        (hint === undefined ? "" : `. ${hint}`),
    );
    this.completion = completion;
    this.code = code;
    this.hint = hint;
  }
}
