import type { CEnum } from "../../ffi/layout.ts";
import { members } from "../../ffi/members.ts";
import { textOrUnknown } from "../../ffi/pointers.ts";
import { integer } from "../../internal/checks.ts";
import type { Complete } from "../../internal/optional.ts";
import type { AddressHandle } from "../address_handle/address_handle.ts";
import { call } from "../core/errors.ts";
import type { MemoryRegion, Sge } from "../memory/memory_region.ts";
import type { MemoryWindow } from "../memory/memory_window.ts";

/**
 * What a send request does (`enum ibv_wr_opcode`).
 *
 * @category Work requests
 */
export const WrOpcode: {
  /** Writes memory of the peer. */
  readonly RDMA_WRITE: CEnum.ibv_wr_opcode.IBV_WR_RDMA_WRITE;
  /** Writes memory of the peer, and consumes one of its receives to deliver immediate data. */
  readonly RDMA_WRITE_WITH_IMM: CEnum.ibv_wr_opcode.IBV_WR_RDMA_WRITE_WITH_IMM;
  /** Sends a message, which consumes a receive of the peer. */
  readonly SEND: CEnum.ibv_wr_opcode.IBV_WR_SEND;
  /** Sends a message with 32 bits of immediate data. */
  readonly SEND_WITH_IMM: CEnum.ibv_wr_opcode.IBV_WR_SEND_WITH_IMM;
  /** Reads memory of the peer. */
  readonly RDMA_READ: CEnum.ibv_wr_opcode.IBV_WR_RDMA_READ;
  /** Compares 8 bytes of the peer's memory with a value and replaces them if they are equal. */
  readonly ATOMIC_CMP_AND_SWP: CEnum.ibv_wr_opcode.IBV_WR_ATOMIC_CMP_AND_SWP;
  /** Adds to 8 bytes of the peer's memory. */
  readonly ATOMIC_FETCH_AND_ADD: CEnum.ibv_wr_opcode.IBV_WR_ATOMIC_FETCH_AND_ADD;
  /** Invalidates an rkey of this side. */
  readonly LOCAL_INV: CEnum.ibv_wr_opcode.IBV_WR_LOCAL_INV;
  /** Binds a memory window of type 2. */
  readonly BIND_MW: CEnum.ibv_wr_opcode.IBV_WR_BIND_MW;
  /** Sends a message and invalidates an rkey of the peer. */
  readonly SEND_WITH_INV: CEnum.ibv_wr_opcode.IBV_WR_SEND_WITH_INV;
  /** Sends a large packet that the device segments; only `WrBuilder.sendTso` offers it. */
  readonly TSO: CEnum.ibv_wr_opcode.IBV_WR_TSO;
  /** An operation of the provider's own; not offered. */
  readonly DRIVER1: CEnum.ibv_wr_opcode.IBV_WR_DRIVER1;
  /** Makes earlier writes to the peer's memory visible or persistent; only `WrBuilder.flush` offers it. */
  readonly FLUSH: CEnum.ibv_wr_opcode.IBV_WR_FLUSH;
  /** Writes 8 bytes of the peer's memory atomically. */
  readonly ATOMIC_WRITE: CEnum.ibv_wr_opcode.IBV_WR_ATOMIC_WRITE;
} = members("ibv_wr_opcode", "IBV_WR_");
/**
 * A value of `WrOpcode`.
 *
 * @category Work requests
 */
export type WrOpcode = typeof WrOpcode[keyof typeof WrOpcode];

/**
 * An opcode in the words of libibverbs (`ibv_wr_opcode_str`, since rdma-core 49), such as `"rdma-write"`.
 *
 * @throws {VerbsError} EOPNOTSUPP if the installed libibverbs is older.
 * @category Work requests
 */
export function wrOpcodeStr(opcode: WrOpcode): string {
  const args = [integer(opcode, "opcode", 0, 0x7fff_ffff)] as const;
  return textOrUnknown(call("ibv_wr_opcode_str", "name opcode", args));
}

/**
 * Flags of a send request (`enum ibv_send_flags`). Combine them with `|`.
 *
 * @category Work requests
 */
export const SendFlags: {
  /** The request starts after earlier RDMA reads and atomics of the queue pair are done. */
  readonly FENCE: CEnum.ibv_send_flags.IBV_SEND_FENCE;
  /** The request has a completion if it succeeds. */
  readonly SIGNALED: CEnum.ibv_send_flags.IBV_SEND_SIGNALED;
  /** The peer gets an event if it waits for solicited completions. */
  readonly SOLICITED: CEnum.ibv_send_flags.IBV_SEND_SOLICITED;
  /** The data is copied when the request is posted; its memory may be reused at once. */
  readonly INLINE: CEnum.ibv_send_flags.IBV_SEND_INLINE;
  /** The device computes IP and TCP or UDP checksums. */
  readonly IP_CSUM: CEnum.ibv_send_flags.IBV_SEND_IP_CSUM;
} = members("ibv_send_flags", "IBV_SEND_");

/**
 * A receive request (`struct ibv_recv_wr`).
 *
 * @category Work requests
 */
export interface RecvRequest {
  /** A number of your choice, 64 bits. The completion carries it, as a bigint. 0 if left out. */
  readonly wrId?: number | bigint | undefined;
  /** Where the message goes. On UD the first 40 bytes are the GRH. No memory if left out. */
  readonly sge?: Sge | readonly Sge[] | undefined;
}

/**
 * The attributes of send requests (`struct ibv_send_wr`). A `SendRequest` has those of its opcode.
 *
 * @category Work requests
 */
export interface SendAttributes {
  /** A number of your choice, 64 bits. The completion carries it, as a bigint. 0 if left out. */
  readonly wrId?: number | bigint | undefined;
  /** What the request does. SEND if left out. */
  readonly opcode?: WrOpcode | undefined;
  /** Whether the request has a completion if it succeeds. True if left out, unless `sendFlags` says otherwise. */
  readonly signaled?: boolean | undefined;
  /** Whether the data is copied when the request is posted. False if left out. */
  readonly inline?: boolean | undefined;
  /** Whether the request waits for earlier RDMA reads and atomics. False if left out. */
  readonly fence?: boolean | undefined;
  /** Whether the peer gets an event if it waits for solicited completions. False if left out. */
  readonly solicited?: boolean | undefined;
  /**
   * Raw `SendFlags`, combined. If it is given it replaces the defaults: a request whose `sendFlags` lack
   * SIGNALED has no completion. The booleans above set or clear single flags of it.
   */
  readonly sendFlags?: number | undefined;
  /** The data to send; for RDMA reads and atomics, where the result goes. No data if left out. */
  readonly sge?: Sge | readonly Sge[] | undefined;
  /** SEND_WITH_IMM, RDMA_WRITE_WITH_IMM: the immediate data in host order, 32 bits. 0 if left out. */
  readonly immData?: number | undefined;
  /** SEND_WITH_INV: the rkey of the peer to invalidate. LOCAL_INV: the rkey of this side. */
  readonly invalidateRkey?: number | undefined;
  /** UD: the address handle of the peer. */
  readonly ah?: AddressHandle | undefined;
  /** UD: the number of the peer's queue pair, 24 bits. */
  readonly remoteQpn?: number | undefined;
  /** UD: the qkey of the peer. If its highest bit is set, the qkey of the sending queue pair is sent instead. */
  readonly remoteQkey?: number | undefined;
  /** RDMA and atomics: the address in the peer's memory. For atomics it is a multiple of 8. */
  readonly remoteAddr?: number | bigint | undefined;
  /** RDMA and atomics: the rkey of the peer's memory region. BIND_MW: the new rkey of the window, see `incRkey`. */
  readonly rkey?: number | undefined;
  /** ATOMIC_CMP_AND_SWP: the value to compare with. ATOMIC_FETCH_AND_ADD: the value to add. */
  readonly compareAdd?: number | bigint | undefined;
  /** ATOMIC_CMP_AND_SWP: the new value. */
  readonly swap?: number | bigint | undefined;
  /** XRC_SEND: the number of the peer's shared receive queue. */
  readonly remoteSrqn?: number | undefined;
  /** BIND_MW: the memory window, of type 2. */
  readonly mw?: MemoryWindow | undefined;
  /** BIND_MW: what the window is bound to. */
  readonly bindInfo?: MwBindInfo | undefined;
}

/**
 * A send request (`struct ibv_send_wr`): the attributes of one opcode, SEND if it is left out. `SendAttributes`
 * explains each attribute. The data is in `sge`.
 *
 * These attributes are needed:
 *
 * - SEND, SEND_WITH_IMM: nothing more on RC and UC; on UD `ah`, `remoteQpn` and `remoteQkey`
 * - RDMA_WRITE, RDMA_WRITE_WITH_IMM, RDMA_READ: `remoteAddr` and `rkey`; ATOMIC_WRITE: the same, and 8 bytes of data
 * - ATOMIC_FETCH_AND_ADD: `remoteAddr`, `rkey` and `compareAdd`; 8 bytes of data
 * - ATOMIC_CMP_AND_SWP: the same, and `swap`
 * - SEND_WITH_INV, LOCAL_INV: `invalidateRkey`
 * - BIND_MW: `mw`, `rkey` and `bindInfo`
 *
 * A request with an attribute that its opcode does not have is refused: by its type, and when it is posted.
 *
 * @example Requests for a datagram, for a message on a connection, and for an RDMA read
 * ```ts
 * import { type AddressHandle, type MemoryRegion, type SendRequest, WrOpcode } from "@rdma/ibverbs";
 *
 * function requests(mr: MemoryRegion, ah: AddressHandle, remoteAddr: bigint, rkey: number): SendRequest[] {
 *   const sge = mr.sge(0, 64);
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
export type SendRequest =
  & Pick<
    SendAttributes,
    "wrId" | "sge" | "signaled" | "inline" | "fence" | "solicited" | "sendFlags"
  >
  & (
    | (
      | {
        readonly [
          K in
            | "opcode"
            | "immData"
            | "invalidateRkey"
            | "remoteAddr"
            | "rkey"
            | "compareAdd"
            | "swap"
            | "mw"
            | "bindInfo"
        ]?: undefined;
      }
      | { readonly opcode: typeof WrOpcode.SEND }
      | { readonly opcode: typeof WrOpcode.SEND_WITH_IMM } & Pick<SendAttributes, "immData">
    )
      & Pick<SendAttributes, "remoteSrqn">
      & (
        | Complete<Pick<SendAttributes, "ah" | "remoteQpn" | "remoteQkey">>
        // A prepared request may get its address handle later.
        | { readonly ah?: undefined } & Pick<SendAttributes, "remoteQpn" | "remoteQkey">
      )
    | { readonly opcode: typeof WrOpcode.SEND_WITH_INV }
      & Complete<Pick<SendAttributes, "invalidateRkey">>
      & Pick<SendAttributes, "remoteSrqn">
    | { readonly opcode: typeof WrOpcode["RDMA_WRITE" | "RDMA_READ" | "ATOMIC_WRITE"] }
      & Complete<Pick<SendAttributes, "remoteAddr" | "rkey">>
      & Pick<SendAttributes, "remoteSrqn">
    | { readonly opcode: typeof WrOpcode.RDMA_WRITE_WITH_IMM }
      & Complete<Pick<SendAttributes, "remoteAddr" | "rkey">>
      & Pick<SendAttributes, "remoteSrqn" | "immData">
    | { readonly opcode: typeof WrOpcode.ATOMIC_FETCH_AND_ADD }
      & Complete<Pick<SendAttributes, "remoteAddr" | "rkey" | "compareAdd">>
      & Pick<SendAttributes, "remoteSrqn">
    | { readonly opcode: typeof WrOpcode.ATOMIC_CMP_AND_SWP }
      & Complete<Pick<SendAttributes, "remoteAddr" | "rkey" | "compareAdd" | "swap">>
      & Pick<SendAttributes, "remoteSrqn">
    | { readonly opcode: typeof WrOpcode.LOCAL_INV }
      & Complete<Pick<SendAttributes, "invalidateRkey">>
    | { readonly opcode: typeof WrOpcode.BIND_MW }
      & Complete<Pick<SendAttributes, "mw" | "rkey" | "bindInfo">>
  );

/**
 * What a memory window is bound to (`struct ibv_mw_bind_info`).
 *
 * @category Work requests
 */
export interface MwBindInfo {
  /** The memory region. It needs the access flag MW_BIND. */
  readonly mr: MemoryRegion;
  /** Address of the first byte in the region. The default is the start of the region. */
  readonly addr?: number | bigint | undefined;
  /** Length in bytes. The default is the rest of the region. 0 ends the binding of a window of type 1. */
  readonly length?: number | undefined;
  /** Operations that peers may do: `AccessFlags`, combined with `|`. */
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
  readonly maxSge?: number | undefined;
}
