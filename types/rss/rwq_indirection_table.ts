import type { IbvRwqIndTable } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { addressOf } from "../../ffi/memory.ts";
import { readNative, writeField } from "../../ffi/struct.ts";
import type { Context } from "../device/context.ts";
import { check, checkHandle, requireOp } from "../core/errors.ts";
import { Resource } from "../core/resource.ts";
import type { RssFlow, RssInputOptions } from "./rss_flow.ts";
import type { RxHash } from "./rx_hash.ts";
import type { WorkQueue } from "./work_queue.ts";

/** The kernel's limit; libibverbs has none, and puts the handles of all entries on its stack. */
const MAX_LOG_SIZE = 13;

/** What an indirection table is to be like (`struct ibv_rwq_ind_table_init_attr`). */
export interface RwqIndirectionTableInit {
  /**
   * The work queue of each entry, all of the table's context. Their number is a power of two, from 1 to 8192; devices
   * allow less, see {@linkcode RssCaps}. A work queue may stand in several entries.
   */
  readonly workQueues: readonly WorkQueue[];
}

/**
 * A receive work queue indirection table (`struct ibv_rwq_ind_table`): by its lower bits, the hash of a packet selects
 * the entry, which names the work queue that receives the packet. Made by {@linkcode Context.createRwqIndirectionTable}.
 * It keeps its work queues: disposing one of them disposes the table, and the queue pairs that use it, first.
 *
 * @example The work queue of a flow
 * ```ts
 * import { microsoftRssKey, RxHash, RxHashFields, type RwqIndirectionTable } from "@rdma/ibverbs";
 *
 * function queueOf(table: RwqIndirectionTable, source: string, destination: string): number {
 *   const { SRC_IPV4, DST_IPV4 } = RxHashFields;
 *   const rxHash = new RxHash({ rxHashKey: microsoftRssKey(), rxHashFieldsMask: SRC_IPV4 | DST_IPV4 });
 *   return table.workQueueFor({ source, destination }, rxHash).wqNum;
 * }
 * ```
 */
export class RwqIndirectionTable extends Resource<IbvRwqIndTable> {
  /** Its name in messages. */
  protected override readonly kind = "indirection table";
  /** The device it belongs to. */
  readonly context: Context;
  /** The work queue of each entry. */
  readonly workQueues: readonly WorkQueue[];
  /** Its number (`ind_tbl_num`). */
  readonly tableNumber: number;

  private constructor(context: Context, handle: IbvRwqIndTable, workQueues: readonly WorkQueue[]) {
    super(handle, [context, ...workQueues]);
    this.context = context;
    this.workQueues = workQueues;
    this.tableNumber = readNative(handle, structs.ibv_rwq_ind_table.fields.ind_tbl_num);
  }

  /** @ignore The way in for {@linkcode Context.createRwqIndirectionTable}. */
  static create(context: Context, init: RwqIndirectionTableInit): RwqIndirectionTable {
    const parent = context.unsafeHandle;
    const workQueues = Object.freeze([...init.workQueues]);
    const attr = writeInit(context, workQueues);
    requireOp(parent, "create_rwq_ind_table", "create indirection table");
    const handle = checkHandle(
      "ibv_create_rwq_ind_table",
      "create indirection table",
      verbs().ibv_create_rwq_ind_table(parent, attr),
      {
        detail: () => `${workQueues.length} entries`,
        hint: (code) => hintCreate(code, context),
      },
    );
    return new RwqIndirectionTable(context, handle, workQueues);
  }

  /** Number of entries. */
  get size(): number {
    return this.workQueues.length;
  }

  /** Logarithm of the number of entries (`log_ind_tbl_size`). */
  get logIndTblSize(): number {
    return Math.log2(this.size);
  }

  /**
   * The work queue that a flow's packets reach, through a queue pair with this table and that hash.
   *
   * @throws As {@linkcode RxHash.hash}.
   */
  workQueueFor(flow: RssFlow, rxHash: RxHash, options?: RssInputOptions): WorkQueue {
    this.assertOpen();
    return this.workQueues[rxHash.hash(flow, options) & (this.workQueues.length - 1)]!;
  }

  /** Destroys the native object. */
  protected override destroy(handle: IbvRwqIndTable): void {
    const result = verbs().ibv_destroy_rwq_ind_table(handle);
    check("ibv_destroy_rwq_ind_table", "destroy indirection table", result);
  }
}

/** The struct, and behind it in the same buffer the pointers it leads to, so that they live as long. */
function writeInit(context: Context, workQueues: readonly WorkQueue[]): DataView {
  const logSize = logSizeOf(workQueues);
  const { size, fields } = structs.ibv_rwq_ind_table_init_attr;
  const pointerSize = fields.ind_tbl.size;
  const attr = new DataView(new ArrayBuffer(size + workQueues.length * pointerSize));
  writeField(attr, fields.log_ind_tbl_size, logSize);
  writeField(attr, fields.ind_tbl, addressOf(attr) + BigInt(size));
  for (const [i, wq] of workQueues.entries()) {
    checkContext(context, wq, i);
    const pointer = Deno.UnsafePointer.value(wq.unsafeHandle);
    writeField(attr, { offset: size + i * pointerSize, type: "ptr" }, pointer);
  }
  return attr;
}

function logSizeOf({ length }: readonly WorkQueue[]): number {
  const log = Math.log2(length);
  if (Number.isInteger(log) && log <= MAX_LOG_SIZE) return log;
  throw new RangeError(
    `Cannot create indirection table: it has ${length} entries, and takes a power of two up to ${
      2 ** MAX_LOG_SIZE
    }`,
  );
}

/** The kernel is told a number that means another work queue, or none, in another context. */
function checkContext(context: Context, wq: WorkQueue, entry: number): void {
  if (wq.context === context) return;
  throw new TypeError(
    `Cannot create indirection table: the work queue of entry ${entry} belongs to another context`,
  );
}

function hintCreate(code: string, context: Context): string | undefined {
  if (code !== "EINVAL" && code !== "ENOMEM") return undefined;
  const { maxRwqIndirectionTables, maxRwqIndirectionTableSize } = context.queryDeviceEx().rssCaps;
  return `The device allows ${maxRwqIndirectionTables} tables of ${maxRwqIndirectionTableSize} entries; mlx4 ` +
    "wants work queues with consecutive numbers, the first a multiple of the table's size";
}
