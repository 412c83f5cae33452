import { structs } from "../../ffi/layout.ts";
import { Grh } from "../address/grh.ts";
import { checkWrId, RequestBuffer } from "./request_buffer.ts";
import { assertObject, assertRequest, RequestList, unknownAttribute } from "./request_list.ts";
import * as lists from "./request_list.ts";
import { NO_MEMORY, readSge } from "./sge_list.ts";
import type { RecvRequest, RequestsInit } from "./work_request.ts";

// A constant of the module, which V8 folds: see send_requests.ts.
const { bufferOf } = lists;

const KNOWN: readonly (keyof RecvRequest)[] = ["wrId", "sge"];

/** The rules of one queue for its receives. */
export interface RecvRules {
  /** The number of scatter/gather elements that requests given as objects have room for. */
  readonly maxSge: number;
  /** Whether the GRH is written in front of each message. */
  readonly needsGrh: boolean;
}

/** Checks a run of receives, unless it is the last one and nothing has changed. Gives the pointer to post it by. */
export let prepareRecvs: (
  list: RecvRequests,
  start: number,
  count: number,
  rules: RecvRules,
) => Deno.PointerObject;

/**
 * Receive requests in native layout (`struct ibv_recv_wr`). They are made once and posted again and again with
 * {@linkcode QueuePair.prototype.postRecv | QueuePair.postRecv} or
 * {@linkcode WorkQueue.prototype.postRecv | WorkQueue.postRecv}. Posting allocates nothing.
 *
 * @category Work requests
 */
export class RecvRequests extends RequestList {
  static {
    prepareRecvs = (list, start, count, rules) => {
      const { run } = bufferOf(list);
      if (!run.isChecked(start, count, rules)) list.#prepare(start, count, rules);
      return run.first;
    };
  }

  /**
   * Makes room for requests without memory.
   *
   * @throws {RangeError} If a size is not positive.
   */
  constructor(init: RequestsInit) {
    super(new RequestBuffer(structs.ibv_recv_wr, init));
  }

  /**
   * Sets `wrId` and `sge` of a request.
   *
   * @throws {RangeError} If there is no such request, a number is out of range, or there is no room for the memory.
   * @throws {TypeError} If an attribute has the wrong type or is unknown, or a memory region is disposed.
   */
  set(index: number, request: RecvRequest): void {
    const buffer = bufferOf(this);
    buffer.at(index);
    assertObject(request, "receive");
    let isNamed = false;
    for (const name in request) {
      if (name !== "wrId" && name !== "sge") throw unknownAttribute(request, name, "receive");
      isNamed = true;
    }
    if (!isNamed) assertRequest(request, KNOWN, "receive");
    const { wrId = 0, sge } = request;
    const memory = sge === undefined ? NO_MEMORY : readSge(sge, buffer.maxSge);
    checkWrId(wrId);
    buffer.writeSge(index, memory);
    buffer.writeWrId(index, wrId);
  }

  #prepare(start: number, count: number, rules: RecvRules): void {
    const buffer = bufferOf(this);
    buffer.beginRun(start, count);
    for (let i = start; i < start + count; i++) check(buffer, i, rules);
    buffer.run.noteChecked(start, count, rules);
  }
}

function check(buffer: RequestBuffer, index: number, { needsGrh }: RecvRules): void {
  buffer.assertMemory(index);
  if (needsGrh && buffer.lengths[index]! < Grh.SIZE) {
    throw new RangeError(
      `Cannot post receive: its buffer has ${
        buffer.lengths[index]
      } bytes, and on UD the GRH alone takes ${Grh.SIZE}`,
    );
  }
}
