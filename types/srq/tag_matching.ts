import { members } from "../../ffi/members.ts";
import { type CEnum, structs } from "../../ffi/layout.ts";
import { allocStruct } from "../../ffi/struct.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { sgeCodec } from "../memory/advise_mr.ts";
import type { Sge } from "../memory/memory_region.ts";
import { type Element, readSge } from "../work/attributes.ts";

/**
 * What an operation on the list of tags does (`enum ibv_ops_wr_opcode`).
 *
 * @category Shared receive queues
 */
export const OpsWrOpcode: {
  /** Adds a receive for messages with a tag. */
  readonly TAG_ADD: CEnum.ibv_ops_wr_opcode.IBV_WR_TAG_ADD;
  /** Removes such a receive. */
  readonly TAG_DEL: CEnum.ibv_ops_wr_opcode.IBV_WR_TAG_DEL;
  /** Tells the device how many unexpected messages were handled. */
  readonly TAG_SYNC: CEnum.ibv_ops_wr_opcode.IBV_WR_TAG_SYNC;
} = members("ibv_ops_wr_opcode", "IBV_WR_");
/**
 * A value of `OpsWrOpcode`.
 *
 * @category Shared receive queues
 */
export type OpsWrOpcode = typeof OpsWrOpcode[keyof typeof OpsWrOpcode];

/**
 * Flags of an operation on the list of tags (`enum ibv_ops_flags`). Combine them with `|`.
 *
 * @category Shared receive queues
 */
export const OpsFlags: {
  /** The operation has a completion. */
  readonly SIGNALED: CEnum.ibv_ops_flags.IBV_OPS_SIGNALED;
  /** The operation also tells the device how many unexpected messages were handled. */
  readonly TM_SYNC: CEnum.ibv_ops_flags.IBV_OPS_TM_SYNC;
} = members("ibv_ops_flags", "IBV_OPS_");

/**
 * An operation on the list of tags (`struct ibv_ops_wr`).
 *
 * @category Shared receive queues
 */
export interface OpsWr {
  /** A number of your choice, 64 bits. The completion of the operation carries it. 0 if left out. */
  readonly wrId?: number | bigint | undefined;
  /** What the operation does. */
  readonly opcode: OpsWrOpcode;
  /** `OpsFlags`, combined. The default is SIGNALED. */
  readonly flags?: number | undefined;
  /** Number of unexpected messages that were handled. It is used with TAG_SYNC and the flag TM_SYNC. */
  readonly unexpectedCnt?: number | undefined;
  /** TAG_DEL: the handle that TAG_ADD returned. */
  readonly handle?: number | undefined;
  /** TAG_ADD: a number of your choice, 64 bits. The completion of the receive carries it. 0 if left out. */
  readonly recvWrId?: number | bigint | undefined;
  /** TAG_ADD: where the message goes. No memory if left out. */
  readonly sge?: Sge | readonly Sge[] | undefined;
  /** TAG_ADD: the tag, 64 bits. */
  readonly tag?: number | bigint | undefined;
  /** TAG_ADD: the bits of the tag that are compared. The default is all. */
  readonly mask?: number | bigint | undefined;
}

/** What the codec derives from `sge`. */
interface Memory {
  readonly sgList?: DataView | undefined;
  readonly numSge?: number | undefined;
}

/** More elements than any device has. */
const MAX_SGE = 256;

const codec: AttributeCodec<OpsWr, OpsWr, Memory> = codecOf("ibv_ops_wr", "operation", {
  wrId: {},
  opcode: { values: OpsWrOpcode, required: true },
  flags: { max: OpsFlags.SIGNALED | OpsFlags.TM_SYNC, fallback: OpsFlags.SIGNALED },
  unexpectedCnt: { field: "tm.unexpected_cnt" },
  handle: { field: "tm.handle" },
  recvWrId: { field: "tm.add.recv_wr_id" },
  sge: { other: true, derive: elementsOf },
  sgList: { field: "tm.add.sg_list", pointer: true, own: true, derive: writeSges },
  numSge: { field: "tm.add.num_sge", own: true, derive: ({ sge }) => elementsIn(sge).length },
  tag: { field: "tm.add.tag" },
  mask: { field: "tm.add.mask", derive: allBits },
});

function elementsOf({ sge }: Readonly<Record<string, unknown>>): readonly Element[] | undefined {
  return sge === undefined ? undefined : [readSge(sge as Sge, MAX_SGE)].flat();
}

function elementsIn(sge: unknown): readonly Element[] {
  return sge as readonly Element[] | undefined ?? [];
}

function writeSges({ sge }: Readonly<Record<string, unknown>>): DataView | undefined {
  const elements = elementsIn(sge);
  const { size } = structs.ibv_sge;
  const view = allocStruct(structs.ibv_sge, elements.length);
  elements.forEach(({ addr, length, lkey }, i) => {
    sgeCodec.write({ addr, length, lkey }, {}, view, i * size);
  });
  return elements.length === 0 ? undefined : view;
}

/** The attributes that belong to each opcode alone. */
const OWN: { readonly [opcode: number]: readonly (keyof OpsWr)[] } = {
  [OpsWrOpcode.TAG_ADD]: ["tag", "recvWrId", "sge", "mask"],
  [OpsWrOpcode.TAG_DEL]: ["handle"],
  [OpsWrOpcode.TAG_SYNC]: [],
};

function allBits({ opcode, mask }: Readonly<Record<string, unknown>>): unknown {
  return mask ?? (opcode === OpsWrOpcode.TAG_ADD ? 0xffff_ffff_ffff_ffffn : undefined);
}

/** An operation in native layout (`struct ibv_ops_wr`), and its scatter/gather elements. */
export interface WrittenOps {
  readonly view: DataView<ArrayBuffer>;
  readonly elements: readonly Element[];
}

/** Reads, checks and writes an operation. */
export function writeOps(op: OpsWr): WrittenOps {
  const { view, given } = codec.write(op);
  checkOwn(given);
  return { view, elements: elementsIn(given.sge) };
}

function checkOwn(given: OpsWr): void {
  const own = OWN[given.opcode]!;
  if (own[0] !== undefined && given[own[0]] === undefined) {
    throw new TypeError(`Cannot use operation: ${own[0]} is missing`);
  }
  for (const name of Object.values(OWN).flat()) {
    if (given[name] !== undefined && !own.includes(name)) {
      throw new TypeError(`Cannot use operation: its opcode has no attribute ${name}`);
    }
  }
}
