// Extended queue pairs, and requests that are posted by their builder.

import {
  type ProtectionDomain,
  QpType,
  type QueuePair,
  QueuePairEx,
  type SendAttributes,
  SendFlags,
  SendOpsFlags,
  type SendRequest,
  type WrBuilder,
  WrOpcode,
} from "../../../mod.ts";
import { type End, makeEnd } from "../setup.ts";

const { SEND, SEND_WITH_IMM, SEND_WITH_INV, RDMA_WRITE, RDMA_WRITE_WITH_IMM } = SendOpsFlags;
const { RDMA_READ, ATOMIC_CMP_AND_SWP, ATOMIC_FETCH_AND_ADD, LOCAL_INV, BIND_MW } = SendOpsFlags;

const UD_OPS = SEND | SEND_WITH_IMM;
const RC_OPS = UD_OPS | SEND_WITH_INV | RDMA_WRITE | RDMA_WRITE_WITH_IMM | LOCAL_INV | BIND_MW |
  RDMA_READ | ATOMIC_CMP_AND_SWP | ATOMIC_FETCH_AND_ADD;

/** An end whose queue pair has a builder. */
export interface EndEx extends End {
  readonly qp: QueuePairEx;
}

/** Makes an extended queue pair, with every operation that rxe has for its type. */
export function makeEndEx(pd: ProtectionDomain, type: QpType): EndEx {
  const { qp: plain, ...end } = makeEnd(pd, type);
  plain.close();
  const cap = { maxSendWr: 64, maxRecvWr: 64, maxSendSge: 4, maxRecvSge: 4, maxInlineData: 64 };
  const sendOpsFlags = type === QpType.RC ? RC_OPS : UD_OPS;
  const init = { qpType: type, sendCq: end.cq, recvCq: end.cq, cap, sendOpsFlags };
  return { ...end, qp: new QueuePairEx(pd, init) };
}

/** Posts requests of RC by the builder of an extended queue pair. */
export function build(qp: QueuePair, requests: readonly SendRequest[]): void {
  using wr = (qp as QueuePairEx).wrStart();
  for (const request of requests) {
    const { wrId = 0, sendFlags = SendFlags.SIGNALED, sge } = request;
    wr.wrId = wrId;
    wr.wrFlags = sendFlags;
    begin(wr, request);
    if (sge !== undefined) wr.setSgeList([sge].flat());
  }
  wr.complete();
}

function begin(wr: WrBuilder, request: SendAttributes): WrBuilder {
  const { opcode = WrOpcode.SEND, rkey = 0, remoteAddr = 0n, immData = 0 } = request;
  const { invalidateRkey = 0, compareAdd = 0, swap = 0 } = request;
  switch (opcode) {
    case WrOpcode.SEND:
      return wr.send();
    case WrOpcode.SEND_WITH_IMM:
      return wr.sendImm(immData);
    case WrOpcode.SEND_WITH_INV:
      return wr.sendInv(invalidateRkey);
    case WrOpcode.RDMA_WRITE:
      return wr.rdmaWrite(rkey, remoteAddr);
    case WrOpcode.RDMA_WRITE_WITH_IMM:
      return wr.rdmaWriteImm(rkey, remoteAddr, immData);
    case WrOpcode.RDMA_READ:
      return wr.rdmaRead(rkey, remoteAddr);
    case WrOpcode.ATOMIC_CMP_AND_SWP:
      return wr.atomicCmpSwp(rkey, remoteAddr, compareAdd, swap);
    case WrOpcode.ATOMIC_FETCH_AND_ADD:
      return wr.atomicFetchAdd(rkey, remoteAddr, compareAdd);
    default:
      throw new Error(`Cannot build: opcode ${opcode}`);
  }
}
