/**
 * A program that is compiled with `exactOptionalPropertyTypes`. What it has read may be `undefined`, and needs no spread to
 * be left out. Nothing here runs.
 */

import {
  type AhAttrInit,
  CompletionQueue,
  type Context,
  type FlowAttr,
  type Mtu,
  type PeerOptions,
  type QpAddress,
  type QpModifyAttr,
  type QueuePair,
  type SrqInitAttr,
} from "../../mod.ts";
import type { CmId } from "../../cm.ts";
import { connectRc, listenRc, listenUd } from "../../net/mod.ts";

/** What a program has read from its command line, for instance. */
interface Read {
  readonly number: number | undefined;
  readonly text: string | undefined;
  readonly mtu: Mtu | undefined;
  readonly signal: AbortSignal | undefined;
}

export async function ofNet({ number, text, signal }: Read): Promise<void> {
  const options = { device: text, portNum: number, signal };
  using conn = await listenUd({ ...options, qkey: 1, recvDepth: number, onOutage: undefined });
  await conn.receive({ signal });
  const rc = { ...options, credits: number, connectTimeout: number, timeout: number };
  using _rc = await connectRc({ ...rc, hostname: "10.0.0.1", port: 1, gidIndex: number });
  using _listener = await listenRc({ ...rc, port: 1, onFailure: undefined });
}

export function ofVerbs(
  { number, mtu, signal }: Read,
  { context, qp, id, to }: { context: Context; qp: QueuePair; id: CmId; to: QpAddress },
): void {
  new CompletionQueue(context, { cqe: 1, channel: undefined, compVector: number });
  qp.activateRc(to, { pathMtu: mtu, sl: number, timeout: number });
  qp.postSend({ opcode: undefined, sge: undefined, signaled: undefined, wrId: number });
  id.accept(qp, { retryCount: number, privateData: undefined }, { signal });
}

/** Attributes whose names stand in other types. */
export function attributes({ number, mtu, signal }: Read): readonly object[] {
  const peer: PeerOptions = { signal, untrusted: undefined };
  const modify: QpModifyAttr = { pathMtu: mtu, sqPsn: number, cap: { maxSendWr: number } };
  const address: AhAttrInit = { portNum: 1, sl: number, grh: undefined };
  const srq: SrqInitAttr = { maxWr: 1, maxSge: number };
  const flow: FlowAttr = { port: 1, priority: number, specs: undefined };
  return [peer, modify, address, srq, flow];
}
