/**
 * Work requests: what a queue pair is to send, and where it is to receive.
 *
 * @module
 */

import { enums } from "../../ffi/layout.ts";
import type { AddressHandle } from "../address_handle/address_handle.ts";
import type { Sge } from "../memory/memory_region.ts";
import { type Members, members } from "../core/enums.ts";

/**
 * What a send request does (`enum ibv_wr_opcode`).
 *
 * - `SEND`, `SEND_WITH_IMM`, `SEND_WITH_INV`: a message; with immediate data; invalidating the peer's rkey
 * - `RDMA_WRITE`, `RDMA_WRITE_WITH_IMM`: write the peer's memory; and consume one of its receives
 * - `RDMA_READ`: read the peer's memory
 * - `ATOMIC_CMP_AND_SWP`, `ATOMIC_FETCH_AND_ADD`, `ATOMIC_WRITE`: atomics on 8 bytes of the peer's memory
 * - `LOCAL_INV`: invalidate an own rkey
 * - `BIND_MW`, `TSO`, `DRIVER1`: not offered by work requests here
 */
export const WrOpcode: Members<typeof enums.ibv_wr_opcode, "IBV_WR_"> = members(
  enums.ibv_wr_opcode,
  "IBV_WR_",
);
/** A value of {@linkcode WrOpcode}. */
export type WrOpcode = typeof WrOpcode[keyof typeof WrOpcode];

/**
 * How a send request is carried out (`enum ibv_send_flags`), to be combined with `|`.
 *
 * - `FENCE`: after earlier RDMA reads and atomics are done
 * - `SIGNALED`: with a completion
 * - `SOLICITED`: with an event for peers that wait for solicited ones
 * - `INLINE`: the data is copied when the request is posted, so that its memory may be reused at once
 * - `IP_CSUM`: with IP checksums by the device
 */
export const SendFlags: Members<typeof enums.ibv_send_flags, "IBV_SEND_"> = members(
  enums.ibv_send_flags,
  "IBV_SEND_",
);

/** Memory of a request: one element, or a list that is gathered or scattered in order. */
export type SgeList = Sge | readonly Sge[];

/** A receive request (`struct ibv_recv_wr`). */
export interface RecvRequest {
  /** Comes back in the completion; 0 if left out. */
  readonly wrId?: bigint;
  /** Where the message goes. On UD it starts with the 40 bytes of the GRH. */
  readonly sge?: SgeList;
}

/** A send request (`struct ibv_send_wr`). */
export interface SendRequest {
  /** Comes back in the completion; 0 if left out. */
  readonly wrId?: bigint;
  /** What to do; SEND if left out. */
  readonly opcode?: WrOpcode;
  /** {@linkcode SendFlags}, combined; SIGNALED if left out. */
  readonly sendFlags?: number;
  /** The data; nothing if left out. */
  readonly sge?: SgeList;
  /** Immediate data in host order, for the opcodes that have it. */
  readonly immData?: number;
  /** The rkey to invalidate, for SEND_WITH_INV (the peer's) and LOCAL_INV (an own one). */
  readonly invalidateRkey?: number;
  /** UD: the peer. Needed there. */
  readonly ah?: AddressHandle;
  /** UD: the peer's queue pair, 24 bits. */
  readonly remoteQpn?: number;
  /** UD: the peer's qkey; with the highest bit set, the sending queue pair's own is sent instead. */
  readonly remoteQkey?: number;
  /** RDMA and atomics: address in the peer's memory. */
  readonly remoteAddr?: bigint;
  /** RDMA and atomics: key of the peer's memory region. */
  readonly rkey?: number;
  /** Atomics: the value to compare with, or to add. */
  readonly compareAdd?: bigint;
  /** ATOMIC_CMP_AND_SWP: the value to put. */
  readonly swap?: bigint;
}

/** How much a list of prepared requests holds. */
export interface RequestsInit {
  /** Requests, at least 1. */
  readonly capacity: number;
  /** Scatter/gather elements of each; 1 if left out. */
  readonly maxSge?: number;
}

/** One request or several, as several. */
export function asList<T>(requests: T | readonly T[]): readonly T[] {
  return Array.isArray(requests) ? requests as readonly T[] : [requests as T];
}
