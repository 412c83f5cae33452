import {
  AccessFlags,
  type AhAttrInit,
  Mtu,
  QpState,
  QpType,
  type QueuePair,
} from "../../../mod.ts";
import { makeEnd, type Pair, pairOf, PORT, selfAddress } from "../setup.ts";

/** All that peers may do. */
export const REMOTE_ACCESS = AccessFlags.REMOTE_WRITE | AccessFlags.REMOTE_READ |
  AccessFlags.REMOTE_ATOMIC;

/** Two RC or UC queue pairs of one device, connected to each other. */
export function connectedPair(type: QpType = QpType.RC): Pair {
  using stack = new DisposableStack();
  const pair = stack.use(pairOf((pd) => makeEnd(pd, type)));
  const ahAttr = selfAddress(pair.context);
  connect(pair.left.qp, pair.right.qp.qpNum, ahAttr);
  connect(pair.right.qp, pair.left.qp.qpNum, ahAttr);
  stack.move();
  return pair;
}

/** Takes an RC or UC queue pair up to RTS. */
export function connect(qp: QueuePair, destQpNum: number, ahAttr: AhAttrInit): void {
  const reliable = qp.type === QpType.RC;
  qp.modify({
    qpState: QpState.INIT,
    pkeyIndex: 0,
    portNum: PORT,
    qpAccessFlags: REMOTE_ACCESS,
  });
  qp.modify({
    qpState: QpState.RTR,
    ahAttr,
    pathMtu: Mtu[1024],
    destQpNum,
    rqPsn: 100,
    ...reliable && { maxDestRdAtomic: 16, minRnrTimer: 12 },
  });
  qp.modify({
    qpState: QpState.RTS,
    sqPsn: 100,
    ...reliable && { timeout: 14, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 16 },
  });
}
