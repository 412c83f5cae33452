/**
 * The attributes that each opcode of a send request has, and the opcodes that each transport has.
 *
 * @module
 */

import { enums } from "../../ffi/layout.ts";
import { nameOf } from "../core/enums.ts";
import { type SendRequest, WrOpcode } from "./work_request.ts";

/** Attributes that only some opcodes have, one bit each. */
export const Given = {
  ah: 1 << 0,
  remoteQpn: 1 << 1,
  remoteQkey: 1 << 2,
  remoteAddr: 1 << 3,
  rkey: 1 << 4,
  compareAdd: 1 << 5,
  swap: 1 << 6,
  immData: 1 << 7,
  invalidateRkey: 1 << 8,
  remoteSrqn: 1 << 9,
  mw: 1 << 10,
  bindInfo: 1 << 11,
} as const satisfies { readonly [K in keyof SendRequest]?: number };

/** The member of the unions in `struct ibv_send_wr` that a request uses. */
export type Layout = "ud" | "rdma" | "atomic" | "bind";

/** What a request with an opcode looks like. */
export interface OpcodeRule {
  /** Whether send requests offer it. Otherwise only builders do. */
  readonly offered: boolean;
  /** The member of the unions that it uses. */
  readonly layout: Layout;
  /** The attributes that it has: bits of {@linkcode Given}. */
  readonly has: number;
  /** The attributes that it must have before it is posted, whatever the transport. */
  readonly needs: number;
  /** Whether it consumes a receive of the peer. */
  readonly consumes: boolean;
  /** Whether it carries data that can be inline. */
  readonly inline: boolean;
  /** Whether it works on 8 bytes at an address that is a multiple of 8. */
  readonly eightBytes: boolean;
}

/** The attributes that datagrams need. */
export const DATAGRAM: number = Given.ah | Given.remoteQpn | Given.remoteQkey;

const { remoteAddr, rkey, compareAdd, swap, immData, invalidateRkey, remoteSrqn, mw, bindInfo } =
  Given;
const RDMA = remoteAddr | rkey;
const MESSAGE = {
  layout: "ud",
  offered: true,
  needs: 0,
  consumes: true,
  inline: true,
  eightBytes: false,
} as const;
const WRITE = {
  layout: "rdma",
  offered: true,
  needs: RDMA,
  consumes: false,
  inline: true,
  eightBytes: false,
} as const;
const ATOMIC = {
  layout: "atomic",
  offered: true,
  consumes: false,
  inline: false,
  eightBytes: true,
} as const;

const BY_NAME: { readonly [name in keyof typeof WrOpcode]?: OpcodeRule } = {
  SEND: { ...MESSAGE, has: DATAGRAM | remoteSrqn },
  SEND_WITH_IMM: { ...MESSAGE, has: DATAGRAM | remoteSrqn | immData },
  SEND_WITH_INV: { ...MESSAGE, has: invalidateRkey | remoteSrqn, needs: invalidateRkey },
  LOCAL_INV: {
    ...MESSAGE,
    has: invalidateRkey,
    needs: invalidateRkey,
    consumes: false,
    inline: false,
  },
  TSO: { ...MESSAGE, has: DATAGRAM, offered: false, inline: false },
  BIND_MW: {
    ...MESSAGE,
    layout: "bind",
    has: mw | rkey | bindInfo,
    needs: mw | rkey | bindInfo,
    consumes: false,
    inline: false,
  },
  RDMA_WRITE: { ...WRITE, has: RDMA | remoteSrqn },
  RDMA_WRITE_WITH_IMM: { ...WRITE, has: RDMA | remoteSrqn | immData, consumes: true },
  RDMA_READ: { ...WRITE, has: RDMA | remoteSrqn, inline: false },
  ATOMIC_WRITE: { ...WRITE, has: RDMA | remoteSrqn, eightBytes: true },
  ATOMIC_FETCH_AND_ADD: {
    ...ATOMIC,
    has: RDMA | compareAdd | remoteSrqn,
    needs: RDMA | compareAdd,
  },
  ATOMIC_CMP_AND_SWP: {
    ...ATOMIC,
    has: RDMA | compareAdd | swap | remoteSrqn,
    needs: RDMA | compareAdd | swap,
  },
};

/** The rule of each opcode by its number; `undefined` if it is not offered. */
export const RULES: readonly (OpcodeRule | undefined)[] = Array.from(
  { length: 1 + Math.max(...Object.values(WrOpcode)) },
  (_, opcode) => BY_NAME[nameOf(WrOpcode, opcode) as keyof typeof WrOpcode],
);

/** The attributes of each opcode by its number: {@linkcode OpcodeRule.has}. */
export const HAS: Uint16Array<ArrayBuffer> = Uint16Array.from(RULES, (rule) => rule?.has ?? 0);

const { SEND, SEND_WITH_IMM, SEND_WITH_INV, LOCAL_INV, RDMA_WRITE, RDMA_WRITE_WITH_IMM } = WrOpcode;
const { BIND_MW, TSO } = WrOpcode;
const UNRELIABLE: readonly number[] = [
  SEND,
  SEND_WITH_IMM,
  SEND_WITH_INV,
  LOCAL_INV,
  RDMA_WRITE,
  RDMA_WRITE_WITH_IMM,
  BIND_MW,
];
const ALL: readonly number[] = Object.values(WrOpcode);

const ANY: number = setOf(ALL);

/** The opcodes of each transport (ibv_post_send(3)). */
const BY_TYPE: ReadonlyMap<number, number> = new Map([
  [enums.ibv_qp_type.IBV_QPT_UD, setOf([SEND, SEND_WITH_IMM, TSO])],
  [enums.ibv_qp_type.IBV_QPT_RAW_PACKET, setOf([SEND, TSO])],
  [enums.ibv_qp_type.IBV_QPT_UC, setOf(UNRELIABLE)],
]);

function setOf(opcodes: readonly number[]): number {
  return opcodes.reduce((set, opcode) => set | 1 << opcode, 0);
}

/** The opcodes of a transport (`enum ibv_qp_type`): a set with one bit for each opcode. */
export function opcodesOf(type: number): number {
  return BY_TYPE.get(type) ?? ANY;
}

/** The names of the attributes in a set, in the order of {@linkcode Given}. */
export function namesOfGiven(set: number): string[] {
  return Object.entries(Given).filter(([, bit]) => set & bit).map(([name]) => name);
}
