import type { IbvRwqIndTable } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { handleAddress } from "../../ffi/pointers.ts";
import { readNative } from "../../ffi/struct.ts";
import { listOf } from "../../internal/checks.ts";
import { ABOVE_LIMIT, aboveLimit, causeOf, type Causes } from "../core/causes.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { instance } from "../core/checks.ts";
import { call } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { assertOpen, rootOf } from "../core/resource.ts";
import { Context } from "../device/context.ts";
import { countsOf } from "../device/counts.ts";
import type { RssFlow, RssInputOptions } from "./rss_flow.ts";
import { RxHash } from "./rx_hash.ts";
import { WorkQueue } from "./work_queue.ts";

/** The kernel's limit. libibverbs has none: it copies the handles of all entries to its stack. */
const MAX_LOG_SIZE = 13;

/** `struct ibv_rwq_ind_table_init_attr` as C sees it. */
interface NativeInit {
  readonly logIndTblSize: number;
  readonly indTbl: BigUint64Array;
}

const codec: AttributeCodec<NativeInit> = codecOf(
  "ibv_rwq_ind_table_init_attr",
  "indirection table",
  { logIndTblSize: {}, indTbl: { pointer: true } },
);

const KIND: NativeKind<IbvRwqIndTable, RwqIndirectionTable> = {
  name: "indirection table",
  destroy: (handle) => call("ibv_destroy_rwq_ind_table", "destroy indirection table", [handle]),
  describe: ({ indTblNum, size }) => ({ indTblNum, size }),
};

/**
 * A receive work queue indirection table (`struct ibv_rwq_ind_table`). The lower bits of a packet's hash select an entry
 * of the table, and the work queue of that entry receives the packet.
 *
 * The order is: work queues, the table, a queue pair of type RAW_PACKET with the table and a `RxHash`, and a
 * `Flow` that selects the packets. The table needs its work queues: disposing one of them first disposes the table
 * and the queue pairs that use it.
 *
 * @example A table of 8 entries over 4 work queues, and a queue pair that uses it
 * ```ts
 * import { microsoftRssKey, QpType, QueuePair, RwqIndirectionTable, RxHash } from "@rdma/ibverbs";
 * import { type ProtectionDomain, RxHashFields, type WorkQueue } from "@rdma/ibverbs";
 *
 * function makeRss(pd: ProtectionDomain, queues: readonly WorkQueue[]): QueuePair {
 *   const entries = Array.from({ length: 8 }, (_, i) => queues[i % 4]!);
 *   const table = new RwqIndirectionTable(pd.context, entries);
 *   const rxHashFieldsMask = RxHashFields.SRC_IPV4 | RxHashFields.DST_IPV4;
 *   const rxHashConf = new RxHash({ rxHashKey: microsoftRssKey(), rxHashFieldsMask });
 *   return new QueuePair(pd, { qpType: QpType.RAW_PACKET, rwqIndTbl: table, rxHashConf });
 * }
 * ```
 *
 * @example The work queue of a flow
 * ```ts
 * import { microsoftRssKey, RxHash, RxHashFields, type RwqIndirectionTable } from "@rdma/ibverbs";
 *
 * function queueOf(table: RwqIndirectionTable, srcIp: string, dstIp: string): number {
 *   const { SRC_IPV4, DST_IPV4 } = RxHashFields;
 *   const rxHash = new RxHash({ rxHashKey: microsoftRssKey(), rxHashFieldsMask: SRC_IPV4 | DST_IPV4 });
 *   return table.workQueueFor({ srcIp, dstIp }, rxHash).wqNum;
 * }
 * ```
 *
 * @experimental It has only run on a stub adapter, and on no hardware.
 * @category Receive work queues and RSS
 */
export class RwqIndirectionTable extends NativeResource<IbvRwqIndTable> {
  /** The device that the table belongs to. */
  readonly context: Context;
  /** The work queue of each entry. */
  readonly workQueues: readonly WorkQueue[];
  /** Table number (`ind_tbl_num`). */
  readonly indTblNum: number;

  /**
   * Makes a table (`ibv_create_rwq_ind_table`).
   *
   * @param workQueues The work queue of each entry. The number of entries is a power of two, 1 to 8192; devices allow
   * fewer, see `rssCaps` of `DeviceAttrEx`. A work queue may be in several entries. The list is copied.
   * @throws {TypeError} If an entry is not a work queue, belongs to another context, or is disposed.
   * @throws {RangeError} If the number of entries is not a power of two or is too large.
   * @throws {VerbsError} If the device has no indirection tables (EOPNOTSUPP) or refuses this one.
   */
  constructor(context: Context, workQueues: readonly WorkQueue[]) {
    instance(context, Context, "context");
    const entries = Object.freeze(listOf(workQueues, "workQueues"));
    const logIndTblSize = logSizeOf(entries);
    entries.forEach((wq, i) => checkEntry(context, wq, i));
    const handles = entries.map(({ unsafeHandle }) => handleAddress(unsafeHandle));
    const { view } = codec.write({ logIndTblSize, indTbl: BigUint64Array.from(handles) });
    const args = [context.unsafeHandle, view] as const;
    const handle = call("ibv_create_rwq_ind_table", "create indirection table", args, {
      detail: () => `${entries.length} entries`,
      hint: (code) => causeOf(TABLE_CAUSES, code, { context, entries }),
      countOf: countsOf(context),
    });
    super(KIND, handle, [context, ...entries]);
    this.context = context;
    this.workQueues = entries;
    this.indTblNum = readNative(handle, structs.ibv_rwq_ind_table.fields.ind_tbl_num);
  }

  /** Number of entries. */
  get size(): number {
    return this.workQueues.length;
  }

  /** Base-2 logarithm of the number of entries (`log_ind_tbl_size`). */
  get logIndTblSize(): number {
    return Math.log2(this.size);
  }

  /**
   * The work queue that receives a flow's packets, if a queue pair uses this table and that hash.
   *
   * @throws As `RxHash.hash`.
   */
  workQueueFor(flow: RssFlow, rxHash: RxHash, options?: RssInputOptions): WorkQueue {
    assertOpen(this);
    instance(rxHash, RxHash, "rxHash");
    return this.workQueues[rxHash.hash(flow, options) & (this.workQueues.length - 1)]!;
  }
}

function logSizeOf({ length }: readonly WorkQueue[]): number {
  const log = Math.log2(length);
  if (Number.isInteger(log) && log <= MAX_LOG_SIZE) return log;
  const needed = `a power of two up to ${2 ** MAX_LOG_SIZE} is needed`;
  throw new RangeError(
    `Cannot create indirection table: workQueues has ${length} entries, and ${needed}`,
  );
}

/** The kernel gets only the number of the work queue, which in another context means another work queue, or none. */
function checkEntry(context: Context, wq: WorkQueue, entry: number): void {
  instance(wq, WorkQueue, `workQueues[${entry}]`);
  if (rootOf(wq) === context) return;
  throw new TypeError(
    `Cannot create indirection table: workQueues[${entry}] belongs to another context`,
  );
}

export const TABLE_CAUSES: Causes<
  { readonly context: Context; readonly entries: readonly WorkQueue[] }
> = [
  ["EINVAL, ENOMEM", ABOVE_LIMIT, ({ context, entries }) => {
    const { maxRwqIndirectionTableSize } = context.queryDeviceEx().rssCaps;
    return aboveLimit([["workQueues.length", entries.length, maxRwqIndirectionTableSize]]);
  }],
  [
    "EINVAL",
    "mlx4 needs work queues with consecutive numbers, the first a multiple of the table's size",
    ({ entries }) =>
      entries.some(({ wqNum }, i) => wqNum !== entries[0]!.wqNum + i) ||
      entries[0]!.wqNum % entries.length !== 0,
  ],
];
