import { structs } from "../../ffi/layout.ts";
import { Grh } from "../address/grh.ts";
import { RequestList } from "./request_list.ts";
import type { RecvRequest, RequestsInit } from "./work_request.ts";

/** Checks a run of requests, and gives the pointer to post it by. */
export let prepareRecvs: (
  list: RecvRequests,
  start: number,
  count: number,
  needsGrh: boolean,
) => Deno.PointerObject;

/**
 * Receive requests in native layout (`struct ibv_recv_wr`), made once and posted again and again with
 * {@linkcode QueuePair.postRecvs} or {@linkcode WorkQueue.postRecvs}. Nothing is allocated by posting.
 */
export class RecvRequests extends RequestList {
  static {
    prepareRecvs = (list, start, count, needsGrh) =>
      list.checked(start, count, needsGrh) ?? list.#prepare(start, count, needsGrh);
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

  #prepare(start: number, count: number, needsGrh: boolean): Deno.PointerObject {
    const first = this.first(start, count);
    for (let i = start; i < start + count; i++) this.#check(i, needsGrh);
    this.noteChecked(start, count, needsGrh, first);
    return first;
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
