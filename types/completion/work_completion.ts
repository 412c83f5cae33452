/**
 * Work completions: what became of posted work.
 *
 * @module
 */

import { enums, structs } from "../../ffi/layout.ts";
import { writeField } from "../../ffi/struct.ts";
import { type Members, members, nameOf } from "../core/enums.ts";

/**
 * How a work request ended (`enum ibv_wc_status`).
 *
 * - `SUCCESS`: done
 * - `LOC_LEN_ERR`: a local buffer was too small, or the message too long
 * - `LOC_QP_OP_ERR`: the queue pair could not carry it out, for instance with a destroyed address handle
 * - `LOC_EEC_OP_ERR`: the same on an end-to-end context
 * - `LOC_PROT_ERR`: a local buffer is not covered by its memory region
 * - `WR_FLUSH_ERR`: dropped, because the queue was in an error state
 * - `MW_BIND_ERR`: a memory window could not be bound
 * - `BAD_RESP_ERR`: the peer's answer was not understood
 * - `LOC_ACCESS_ERR`: a local buffer lacks the access it needs
 * - `REM_INV_REQ_ERR`: the peer refused the request
 * - `REM_ACCESS_ERR`: the peer's memory region lacks the access it needs
 * - `REM_OP_ERR`: the peer could not carry it out
 * - `RETRY_EXC_ERR`: the peer did not answer
 * - `RNR_RETRY_EXC_ERR`: the peer had no receive posted
 * - `LOC_RDD_VIOL_ERR`, `REM_INV_RD_REQ_ERR`, `REM_ABORT_ERR`, `INV_EECN_ERR`, `INV_EEC_STATE_ERR`: reliable datagrams
 * - `FATAL_ERR`: the device failed
 * - `RESP_TIMEOUT_ERR`: no answer in time
 * - `GENERAL_ERR`: anything else
 * - `TM_ERR`, `TM_RNDV_INCOMPLETE`: tag matching
 */
export const WcStatus: Members<typeof enums.ibv_wc_status, "IBV_WC_"> = members(
  enums.ibv_wc_status,
  "IBV_WC_",
);
/** A value of {@linkcode WcStatus}. */
export type WcStatus = typeof WcStatus[keyof typeof WcStatus];

/**
 * What completed (`enum ibv_wc_opcode`); valid where the status is SUCCESS.
 *
 * - `SEND`, `RDMA_WRITE`, `RDMA_READ`, `COMP_SWAP`, `FETCH_ADD`, `BIND_MW`, `LOCAL_INV`, `TSO`,
 *   `ATOMIC_WRITE`: a request of the send queue
 * - `RECV`: a receive, from a send
 * - `RECV_RDMA_WITH_IMM`: a receive, from an RDMA write with immediate data
 * - `TM_ADD`, `TM_DEL`, `TM_SYNC`, `TM_RECV`, `TM_NO_TAG`: tag matching
 * - `DRIVER1`, `DRIVER2`, `DRIVER3`: the provider's own
 */
export const WcOpcode: Members<typeof enums.ibv_wc_opcode, "IBV_WC_"> = members(
  enums.ibv_wc_opcode,
  "IBV_WC_",
);
/** A value of {@linkcode WcOpcode}. */
export type WcOpcode = typeof WcOpcode[keyof typeof WcOpcode];

/**
 * Flags of a completion (`enum ibv_wc_flags`), to be combined with `|`.
 *
 * - `GRH`: the buffer of a UD receive starts with a GRH (rxe sets it on every receive)
 * - `WITH_IMM`: `immData` is valid
 * - `IP_CSUM_OK`: the checksums of a raw packet were verified
 * - `WITH_INV`: `invalidatedRkey` is valid
 * - `TM_SYNC_REQ`, `TM_MATCH`, `TM_DATA_VALID`: tag matching
 */
export const WcFlags: Members<typeof enums.ibv_wc_flags, "IBV_WC_"> = members(
  enums.ibv_wc_flags,
  "IBV_WC_",
);

/** What `ibv_init_ah_from_wc` reads of a completion. */
export interface WcAddress {
  /** {@linkcode WcFlags}; `GRH` decides whether the peer's GID is taken from the GRH. */
  readonly wcFlags: number;
  /** The sender's LID; InfiniBand only. */
  readonly slid: number;
  /** Service level, 0 to 15. */
  readonly sl: number;
  /** The lower bits of the LID the packet was sent to; InfiniBand only. */
  readonly dlidPathBits: number;
}

/**
 * A work completion (`struct ibv_wc`). Where `status` is not SUCCESS, only `wrId`, `status`, `qpNum` and `vendorErr`
 * are valid.
 */
export class WorkCompletion implements WcAddress {
  /** The `wrId` that was posted. */
  readonly wrId: bigint;
  /** How it ended. */
  readonly status: WcStatus;
  /** What completed. */
  readonly opcode: WcOpcode;
  /** The vendor's own error code. */
  readonly vendorErr: number;
  /** Bytes received, with the 40 of the GRH on a UD queue pair; not valid for sends. */
  readonly byteLen: number;
  /** Immediate data in host order; valid with {@linkcode WcFlags}.WITH_IMM. */
  readonly immData: number;
  /** The rkey that the peer's send invalidated; valid with {@linkcode WcFlags}.WITH_INV. */
  readonly invalidatedRkey: number;
  /** The local queue pair, 24 bits. */
  readonly qpNum: number;
  /** The sender's queue pair, 24 bits; valid on UD queue pairs. */
  readonly srcQp: number;
  /** {@linkcode WcFlags}. */
  readonly wcFlags: number;
  /** Index of the P_Key received; GSI queue pairs only. */
  readonly pkeyIndex: number;
  /** The sender's LID; InfiniBand, UD only. */
  readonly slid: number;
  /** Service level; UD only. */
  readonly sl: number;
  /** The lower bits of the LID the packet was sent to; InfiniBand, UD only. */
  readonly dlidPathBits: number;

  /** Reads the completion at a byte offset of native memory. Completions come from {@linkcode CompletionQueue.poll}. */
  constructor(view: DataView, base: number) {
    const { fields } = structs.ibv_wc;
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
   * The completion itself, if it succeeded.
   *
   * @throws {WorkCompletionError} If its status is not SUCCESS.
   */
  check(): this {
    if (!this.ok) throw new WorkCompletionError(this);
    return this;
  }
}

/** What usually lies behind a status, by its name. */
const HINTS: Readonly<Record<string, string>> = {
  LOC_LEN_ERR:
    "The message does not fit the posted buffer; on UD it takes 40 bytes more for the GRH",
  LOC_QP_OP_ERR:
    "The queue pair could not carry out the request: are a send's address handle and memory alive and of the same " +
    "protection domain, is a receive's buffer large enough (on UD with 40 bytes more for the GRH)?",
  LOC_PROT_ERR: "A buffer is not covered by a live memory region with the access it needs",
  WR_FLUSH_ERR: "The queue pair was in an error state before this request was reached",
  LOC_ACCESS_ERR: "The local memory region lacks the access that the request needs",
  REM_INV_REQ_ERR:
    "The peer refused the request: does its queue pair allow the operation and the length?",
  REM_ACCESS_ERR:
    "The peer's memory region does not allow this access, or the rkey or address is wrong",
  REM_OP_ERR: "The peer could not carry out the request",
  RETRY_EXC_ERR:
    "The peer did not answer: is its queue pair ready, and the path right (GID, LID, MTU)?",
  RNR_RETRY_EXC_ERR: "The peer had no receive posted",
};

/** A completion whose status is not SUCCESS. */
export class WorkCompletionError extends Error {
  /** The error's name. */
  override readonly name = "WorkCompletionError";
  /** The completion. */
  readonly completion: WorkCompletion;
  /** The status' name, such as `"WR_FLUSH_ERR"`. */
  readonly code: string;
  /** What usually lies behind the status, where known. */
  readonly hint: string | undefined;

  /** Makes the error of a completion. */
  constructor(completion: WorkCompletion) {
    const code = nameOf(WcStatus, completion.status);
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

/** Writes what `ibv_init_ah_from_wc` reads into a native completion. */
export function writeWcAddress(view: DataView, wc: WcAddress): void {
  const { fields } = structs.ibv_wc;
  writeField(view, fields.wc_flags, wc.wcFlags);
  writeField(view, fields.slid, wc.slid);
  writeField(view, fields.sl, wc.sl);
  writeField(view, fields.dlid_path_bits, wc.dlidPathBits);
}
