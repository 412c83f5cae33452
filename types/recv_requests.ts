import { structs } from "../ffi/layout.ts";
import { Grh } from "./grh.ts";
import { RequestList } from "./request_list.ts";
import type { RecvRequest, RequestsInit } from "./work_request.ts";

/** Checks a run of requests before it is posted. */
export let checkRecvs: (
  list: RecvRequests,
  start: number,
  count: number,
  needsGrh: boolean,
) => void;

/**
 * Receive requests in native layout (`struct ibv_recv_wr`), made once and posted again and again with
 * {@linkcode QueuePair.postRecvs} or {@linkcode WorkQueue.postRecvs}. Nothing is allocated by posting.
 */
export class RecvRequests extends RequestList {
  static {
    checkRecvs = (list, start, count, needsGrh) => {
      for (let i = start; i < start + count; i++) list.#check(i, needsGrh);
    };
  }

  /** Makes room for requests without memory. */
  constructor(init: RequestsInit) {
    super(structs.ibv_recv_wr, init);
  }

  /** Sets a request: `wrId` and `sge`. */
  set(index: number, { wrId = 0n, sge = [] }: RecvRequest): void {
    this.setSge(index, sge);
    this.setWrId(index, wrId);
  }

  #check(index: number, needsGrh: boolean): void {
    this.assertMemory(index);
    if (needsGrh && this.lengths[index]! < Grh.SIZE) {
      throw new RangeError(
        `Cannot post receive: its buffer has ${
          this.lengths[index]
        } bytes, and on UD the GRH alone takes ${Grh.SIZE}`,
      );
    }
  }
}
