import { verbs } from "../../ffi/library.ts";
import { type Members, members } from "../../ffi/members.ts";
import { readCString } from "../../ffi/pointers.ts";
import { integer } from "../../internal/checks.ts";
import type { AddressHandle } from "../address_handle/address_handle.ts";
import type { MemoryRegion, Sge } from "../memory/memory_region.ts";
import type { MemoryWindow } from "../memory/memory_window.ts";

/**
 * What a send request does (`enum ibv_wr_opcode`).
 *
 * - `SEND`: sends a message, which consumes a receive of the peer
 * - `SEND_WITH_IMM`: sends a message with 32 bits of immediate data
 * - `SEND_WITH_INV`: sends a message and invalidates an rkey of the peer
 * - `RDMA_WRITE`: writes memory of the peer
 * - `RDMA_WRITE_WITH_IMM`: writes memory of the peer, and consumes one of its receives to deliver immediate data
 * - `RDMA_READ`: reads memory of the peer
 * - `ATOMIC_CMP_AND_SWP`: compares 8 bytes of the peer's memory with a value and replaces them if they are equal
 * - `ATOMIC_FETCH_AND_ADD`: adds to 8 bytes of the peer's memory
 * - `ATOMIC_WRITE`: writes 8 bytes of the peer's memory atomically
 * - `FLUSH`: puts what was written to the peer's memory in its place; only {@linkcode WrBuilder.flush} offers it
 * - `LOCAL_INV`: invalidates an rkey of this side
 * - `BIND_MW`: binds a memory window of type 2
 * - `TSO`: sends a large packet that the device segments; only {@linkcode WrBuilder.sendTso} offers it
 * - `DRIVER1`: an operation of the provider's own; not offered
 *
 * @category Work requests
 */
export const WrOpcode: Members<"ibv_wr_opcode", "IBV_WR_"> = members("ibv_wr_opcode", "IBV_WR_");
/**
 * A value of {@linkcode WrOpcode}.
 *
 * @category Work requests
 */
export type WrOpcode = typeof WrOpcode[keyof typeof WrOpcode];

/**
 * An opcode in the words of libibverbs (`ibv_wr_opcode_str`, since rdma-core 49), such as `"rdma-write"`.
 *
 * @throws {SystemError} EOPNOTSUPP if the installed libibverbs is older.
 * @category Work requests
 */
export function wrOpcodeStr(opcode: WrOpcode): string {
  const text = verbs().ibv_wr_opcode_str(integer(opcode, "opcode", 0, 0x7fff_ffff));
  return text === null ? "unknown" : readCString(text);
}

/**
 * Flags of a send request (`enum ibv_send_flags`). Combine them with `|`.
 *
 * - `FENCE`: the request starts after earlier RDMA reads and atomics of the queue pair are done
 * - `SIGNALED`: the request has a completion if it succeeds
 * - `SOLICITED`: the peer gets an event if it waits for solicited completions
 * - `INLINE`: the data is copied when the request is posted; its memory may be reused at once
 * - `IP_CSUM`: the device computes IP and TCP or UDP checksums
 *
 * @category Work requests
 */
export const SendFlags: Members<"ibv_send_flags", "IBV_SEND_"> = members(
  "ibv_send_flags",
  "IBV_SEND_",
);

/**
 * A receive request (`struct ibv_recv_wr`).
 *
 * @category Work requests
 */
export interface RecvRequest {
  /** A number of your choice, 64 bits. The completion carries it, as a bigint. 0 if left out. */
  readonly wrId?: number | bigint;
  /** Where the message goes. On UD the first 40 bytes are the GRH. No memory if left out. */
  readonly sge?: Sge | readonly Sge[];
}

/**
 * A send request (`struct ibv_send_wr`).
 *
 * Each opcode has attributes of its own. A request with an attribute that its opcode does not have is refused. The data is
 * in `sge`. These attributes are needed:
 *
 * - SEND, SEND_WITH_IMM: nothing more on RC and UC; on UD `ah`, `remoteQpn` and `remoteQkey`
 * - RDMA_WRITE, RDMA_WRITE_WITH_IMM, RDMA_READ: `remoteAddr` and `rkey`
 * - ATOMIC_FETCH_AND_ADD: `remoteAddr`, `rkey` and `compareAdd`; 8 bytes of data
 * - ATOMIC_CMP_AND_SWP: the same, and `swap`
 *
 * @example Requests for a datagram, for a message on a connection, and for an RDMA read
 * ```ts
 * import { type AddressHandle, type MemoryRegion, type SendRequest, WrOpcode } from "@rdma/ibverbs";
 *
 * function requests(mr: MemoryRegion, ah: AddressHandle, remoteAddr: bigint, rkey: number): SendRequest[] {
 *   const sge = mr.slice(0, 64);
 *   return [
 *     { sge, ah, remoteQpn: 18, remoteQkey: 0x1111_1111 },
 *     { sge },
 *     { opcode: WrOpcode.RDMA_READ, sge, remoteAddr, rkey },
 *   ];
 * }
 * ```
 *
 * @category Work requests
 */
export interface SendRequest {
  /** A number of your choice, 64 bits. The completion carries it, as a bigint. 0 if left out. */
  readonly wrId?: number | bigint;
  /** What the request does. SEND if left out. */
  readonly opcode?: WrOpcode;
  /** Whether the request has a completion if it succeeds. True if left out, unless `sendFlags` says otherwise. */
  readonly signaled?: boolean;
  /** Whether the data is copied when the request is posted. False if left out. */
  readonly inline?: boolean;
  /** Whether the request waits for earlier RDMA reads and atomics. False if left out. */
  readonly fence?: boolean;
  /** Whether the peer gets an event if it waits for solicited completions. False if left out. */
  readonly solicited?: boolean;
  /**
   * Raw {@linkcode SendFlags}, combined. If it is given it replaces the defaults: a request whose `sendFlags` lack
   * SIGNALED has no completion. The booleans above set or clear single flags of it.
   */
  readonly sendFlags?: number;
  /** The data to send; for RDMA reads and atomics, where the result goes. No data if left out. */
  readonly sge?: Sge | readonly Sge[];
  /** SEND_WITH_IMM, RDMA_WRITE_WITH_IMM: the immediate data in host order, 32 bits. 0 if left out. */
  readonly immData?: number;
  /** SEND_WITH_INV: the rkey of the peer to invalidate. LOCAL_INV: the rkey of this side. */
  readonly invalidateRkey?: number;
  /** UD: the address handle of the peer. */
  readonly ah?: AddressHandle;
  /** UD: the number of the peer's queue pair, 24 bits. */
  readonly remoteQpn?: number;
  /** UD: the qkey of the peer. If its highest bit is set, the qkey of the sending queue pair is sent instead. */
  readonly remoteQkey?: number;
  /** RDMA and atomics: the address in the peer's memory. For atomics it is a multiple of 8. */
  readonly remoteAddr?: number | bigint;
  /** RDMA and atomics: the rkey of the peer's memory region. BIND_MW: the new rkey of the window. */
  readonly rkey?: number;
  /** ATOMIC_CMP_AND_SWP: the value to compare with. ATOMIC_FETCH_AND_ADD: the value to add. */
  readonly compareAdd?: number | bigint;
  /** ATOMIC_CMP_AND_SWP: the new value. */
  readonly swap?: number | bigint;
  /** XRC_SEND: the number of the peer's shared receive queue. */
  readonly remoteSrqn?: number;
  /** BIND_MW: the memory window, of type 2. */
  readonly mw?: MemoryWindow;
  /** BIND_MW: what the window is bound to. */
  readonly bindInfo?: MwBindInfo;
}

/**
 * What a memory window is bound to (`struct ibv_mw_bind_info`).
 *
 * @category Work requests
 */
export interface MwBindInfo {
  /** The memory region. It needs the access flag MW_BIND. */
  readonly mr: MemoryRegion;
  /** Address of the first byte in the region. The default is the start of the region. */
  readonly addr?: number | bigint;
  /** Length in bytes. The default is the rest of the region. 0 ends the binding of a window of type 1. */
  readonly length?: number;
  /** Operations that peers may do: {@linkcode AccessFlags}, combined with `|`. */
  readonly mwAccessFlags: number;
}

/**
 * The size of a list of prepared requests.
 *
 * @category Work requests
 */
export interface RequestListInit {
  /** The number of requests, at least 1. */
  readonly capacity: number;
  /** The number of scatter/gather elements of each request, at least 1. 1 if left out. */
  readonly maxSge?: number;
}
