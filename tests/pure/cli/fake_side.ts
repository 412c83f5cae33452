// One side of an exchange of messages, without a device.

import { assert } from "@std/assert";
import { type CompletionQueue, WcStatus, type WorkCompletions } from "../../../mod.ts";
import { RECV, SEND, type Side } from "../../../cli/peer/endpoint.ts";
import { structs } from "../../../ffi/layout.ts";
import { writeField } from "../../../ffi/struct.ts";
import { batchCore } from "../../../types/completion/work_completions.ts";

const { size, fields } = structs.ibv_wc;

interface Completion {
  readonly wrId: number;
  readonly qpNum: number;
  readonly status?: WcStatus;
}

/** A side whose messages reach its peer at once. Its queue pairs have the numbers from 100 on. */
export class FakeSide implements Side {
  readonly queuePairs: number;
  readonly completions: Completion[] = [];
  readonly sent: number[];
  /** Receives that are posted and not used. */
  receives: number;
  peer: FakeSide | undefined;

  constructor(queuePairs: number, receives: number) {
    this.queuePairs = queuePairs;
    this.sent = new Array(queuePairs).fill(0);
    this.receives = receives;
  }

  get cq(): CompletionQueue {
    return { pollInto: (batch: WorkCompletions) => this.#poll(batch) } as CompletionQueue;
  }

  indexOf(qpNum: number): number {
    return qpNum - 100;
  }

  postSend(index: number): void {
    const qpNum = 100 + index;
    this.sent[index]!++;
    this.completions.push({ wrId: SEND, qpNum });
    assert(this.peer!.receives-- > 0, "the peer has no receive");
    this.peer!.completions.push({ wrId: RECV, qpNum });
  }

  postRecv(count: number): void {
    this.receives += count;
  }

  #poll(batch: WorkCompletions): number {
    const found = this.completions.splice(0, batch.capacity);
    const { view } = batchCore(batch);
    for (const [i, { wrId, qpNum, status = WcStatus.SUCCESS }] of found.entries()) {
      writeField(view, fields.wr_id, wrId, i * size);
      writeField(view, fields.qp_num, qpNum, i * size);
      writeField(view, fields.status, status, i * size);
    }
    batchCore(batch).polled(found.length);
    return found.length;
  }
}
