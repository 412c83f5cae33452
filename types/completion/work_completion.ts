import { structs } from "../../ffi/layout.ts";
import { type Members, members } from "../../ffi/members.ts";
import { verbs } from "../../ffi/library.ts";
import { readCString } from "../../ffi/pointers.ts";
import { integer } from "../../internal/checks.ts";
import { instance } from "../core/checks.ts";
import { nameOf, namesOf } from "../core/enums.ts";

const { fields } = structs.ibv_wc;
// Constants of their own for V8: see "Help for V8" in docs/performance.md.
const WR_ID = fields.wr_id.offset;
const STATUS = fields.status.offset;
const OPCODE = fields.opcode.offset;
const VENDOR_ERR = fields.vendor_err.offset;
const BYTE_LEN = fields.byte_len.offset;
const IMM_DATA = fields.imm_data.offset;
const INVALIDATED_RKEY = fields.invalidated_rkey.offset;
const QP_NUM = fields.qp_num.offset;
const SRC_QP = fields.src_qp.offset;
const WC_FLAGS = fields.wc_flags.offset;
const PKEY_INDEX = fields.pkey_index.offset;
const SLID = fields.slid.offset;
const SL = fields.sl.offset;
const DLID_PATH_BITS = fields.dlid_path_bits.offset;

/**
 * Result of a work request (`enum ibv_wc_status`).
 *
 * - `SUCCESS`: the request succeeded
 * - `LOC_LEN_ERR`: a local buffer is too small, or the message is too long
 * - `LOC_QP_OP_ERR`: the queue pair could not execute the request, for instance because its address handle was destroyed
 * - `LOC_EEC_OP_ERR`: the same for an end-to-end context
 * - `LOC_PROT_ERR`: a local buffer is not within its memory region
 * - `WR_FLUSH_ERR`: the request was not executed, because the queue pair was in an error state
 * - `MW_BIND_ERR`: a memory window could not be bound
 * - `BAD_RESP_ERR`: the peer's response was unexpected
 * - `LOC_ACCESS_ERR`: a local buffer lacks the access that the request needs
 * - `REM_INV_REQ_ERR`: the peer refused the request as invalid
 * - `REM_ACCESS_ERR`: the peer's memory region lacks the access that the request needs
 * - `REM_OP_ERR`: the peer could not execute the request
 * - `RETRY_EXC_ERR`: the peer did not answer
 * - `RNR_RETRY_EXC_ERR`: the peer had no receive posted
 * - `LOC_RDD_VIOL_ERR`, `REM_INV_RD_REQ_ERR`, `REM_ABORT_ERR`, `INV_EECN_ERR`, `INV_EEC_STATE_ERR`: reliable datagrams
 * - `FATAL_ERR`: the device failed
 * - `RESP_TIMEOUT_ERR`: the response came too late
 * - `GENERAL_ERR`: any other error
 * - `TM_ERR`, `TM_RNDV_INCOMPLETE`: tag matching
 *
 * @category Completions
 */
export const WcStatus: Members<"ibv_wc_status", "IBV_WC_"> = members("ibv_wc_status", "IBV_WC_");
/**
 * A value of {@linkcode WcStatus}.
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
  const text = verbs().ibv_wc_status_str(integer(status, "status", 0, 0x7fff_ffff));
  return text === null ? "unknown" : readCString(text);
}

/**
 * Kind of a completed request (`enum ibv_wc_opcode`). It is valid if the status is SUCCESS.
 *
 * - `SEND`, `RDMA_WRITE`, `RDMA_READ`, `COMP_SWAP`, `FETCH_ADD`, `BIND_MW`, `LOCAL_INV`, `TSO`,
 *   `ATOMIC_WRITE`, `FLUSH`: a request of the send queue
 * - `RECV`: a receive of a send
 * - `RECV_RDMA_WITH_IMM`: a receive of an RDMA write with immediate data
 * - `TM_ADD`, `TM_DEL`, `TM_SYNC`, `TM_RECV`, `TM_NO_TAG`: tag matching
 * - `DRIVER1`, `DRIVER2`, `DRIVER3`: operations of the provider
 *
 * @category Completions
 */
export const WcOpcode: Members<"ibv_wc_opcode", "IBV_WC_"> = members("ibv_wc_opcode", "IBV_WC_");
/**
 * A value of {@linkcode WcOpcode}.
 *
 * @category Completions
 */
export type WcOpcode = typeof WcOpcode[keyof typeof WcOpcode];

/**
 * Flags of a completion (`enum ibv_wc_flags`), combined with `|`.
 *
 * - `GRH`: the buffer of a UD receive starts with a GRH (rxe sets it for every receive)
 * - `WITH_IMM`: `immData` is valid
 * - `IP_CSUM_OK`: the device verified the checksums of a raw packet
 * - `WITH_INV`: `invalidatedRkey` is valid
 * - `TM_SYNC_REQ`, `TM_MATCH`, `TM_DATA_VALID`: tag matching
 *
 * @category Completions
 */
export const WcFlags: Members<"ibv_wc_flags", "IBV_WC_"> = members("ibv_wc_flags", "IBV_WC_");

/**
 * The attributes of a completion that `ibv_init_ah_from_wc` reads. A {@linkcode WorkCompletion} has them.
 *
 * @category Completions
 */
export interface WcAddress {
  /** {@linkcode WcFlags}, combined. With `GRH` the peer's GID is taken from the GRH. */
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
 * {@linkcode WorkCompletion.prototype.check | WorkCompletion.check} throws if the request failed. The object is a copy:
 * later polls do not change it.
 *
 * @example What a completion tells
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
  /** Immediate data in host order. It is valid with {@linkcode WcFlags}.WITH_IMM. */
  readonly immData: number;
  /** The rkey that the peer's send invalidated. It is valid with {@linkcode WcFlags}.WITH_INV. */
  readonly invalidatedRkey: number;
  /** Number of the local queue pair, 24 bits. */
  readonly qpNum: number;
  /** Number of the sender's queue pair, 24 bits. It is valid on UD queue pairs. */
  readonly srcQp: number;
  /** {@linkcode WcFlags}, combined. */
  readonly wcFlags: number;
  /** Index of the P_Key of the packet. It is valid on GSI queue pairs. */
  readonly pkeyIndex: number;
  /** LID of the sender. It is valid on UD queue pairs of InfiniBand. */
  readonly slid: number;
  /** Service level. It is valid on UD queue pairs. */
  readonly sl: number;
  /** Low bits of the LID that the packet was sent to. They are valid on UD queue pairs of InfiniBand. */
  readonly dlidPathBits: number;

  // Attributes of their own can be compared, spread and cloned.
  /** @ignore Copies a `struct ibv_wc` that starts at a byte offset of a view. */
  constructor(view: DataView, base: number) {
    this.wrId = view.getBigUint64(base + WR_ID, true);
    this.status = view.getUint32(base + STATUS, true) as WcStatus;
    this.opcode = view.getUint32(base + OPCODE, true) as WcOpcode;
    this.vendorErr = view.getUint32(base + VENDOR_ERR, true);
    this.byteLen = view.getUint32(base + BYTE_LEN, true);
    this.immData = view.getUint32(base + IMM_DATA);
    this.invalidatedRkey = view.getUint32(base + INVALIDATED_RKEY, true);
    this.qpNum = view.getUint32(base + QP_NUM, true);
    this.srcQp = view.getUint32(base + SRC_QP, true);
    this.wcFlags = view.getUint32(base + WC_FLAGS, true);
    this.pkeyIndex = view.getUint16(base + PKEY_INDEX, true);
    this.slid = view.getUint16(base + SLID, true);
    this.sl = view.getUint8(base + SL);
    this.dlidPathBits = view.getUint8(base + DLID_PATH_BITS);
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
    const what = this.ok
      ? `opcode: ${nameOf(WcOpcode, this.opcode)}, byteLen: ${this.byteLen}, ` +
        `wcFlags: ${namesOf(WcFlags, this.wcFlags)}`
      : `vendorErr: ${this.vendorErr}`;
    const status = nameOf(WcStatus, this.status);
    return `WorkCompletion { wrId: ${this.wrId}n, status: ${status}, qpNum: ${this.qpNum}, ${what} }`;
  }
}

/** The usual cause of a status, by its name. */
const HINTS: Readonly<Record<string, string>> = {
  LOC_LEN_ERR:
    "The message does not fit into the posted buffer. On UD the buffer needs 40 more bytes for the GRH",
  LOC_QP_OP_ERR:
    "The queue pair could not execute the request. A send needs an address handle and memory that are alive and of the " +
    "queue pair's protection domain. A receive needs a buffer that is large enough, on UD with 40 more bytes for the GRH",
  LOC_PROT_ERR: "A buffer is not within a live memory region that has the access it needs",
  WR_FLUSH_ERR: "The queue pair was in an error state before it reached this request",
  LOC_ACCESS_ERR: "The local memory region lacks the access that the request needs",
  REM_INV_REQ_ERR:
    "The peer refused the request: its queue pair may not allow the operation or the length",
  REM_ACCESS_ERR:
    "The peer's memory region does not allow this access, or the rkey or the address is wrong",
  REM_OP_ERR: "The peer could not execute the request",
  RETRY_EXC_ERR:
    "The peer did not answer: its queue pair may not be ready, or the path may be wrong (GID, LID, MTU)",
  RNR_RETRY_EXC_ERR: "The peer had no receive posted",
};

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
  /** The usual cause of the status, if it is known. */
  readonly hint: string | undefined;

  /** Makes the error of a completion. */
  constructor(completion: WorkCompletion) {
    const code = nameOf(WcStatus, instance(completion, WorkCompletion, "completion").status);
    const hint = HINTS[code];
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
