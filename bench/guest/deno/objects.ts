/** Objects that are made and destroyed. See ../c/objects.h. */

import {
  AddressHandle,
  CompletionQueue,
  type Context,
  ProtectionDomain,
  QpType,
  QueuePair,
} from "../../../mod.ts";
import { middlePart, type Plan } from "../../deno/clock.ts";
import { PORT } from "../../deno/datagrams.ts";

const DEPTH = 64;

type Maker = () => Disposable;

const KINDS: Readonly<Record<string, (pd: ProtectionDomain) => Maker>> = {
  ah: (pd) => {
    const grh = { dgid: pd.context.queryGid(PORT, 0), sgidIndex: 0, hopLimit: 64 };
    return () => new AddressHandle(pd, { portNum: PORT, grh });
  },
  qp: (pd) => {
    const cq = new CompletionQueue(pd.context, { cqe: 2 * DEPTH, channel: null });
    const cap = { maxSendWr: DEPTH, maxRecvWr: DEPTH };
    return () => new QueuePair(pd, { type: QpType.UD, sendCq: cq, recvCq: cq, cap });
  },
};

const makers = new Map<string, Maker>();

export function makeAndEnd(context: Context, kind: string, plan: Plan): Promise<number> {
  const make = makers.get(kind) ?? KINDS[kind]!(new ProtectionDomain(context));
  makers.set(kind, make);
  return middlePart(plan, (count) => {
    for (let i = 0; i < count; i++) make()[Symbol.dispose]();
  });
}
