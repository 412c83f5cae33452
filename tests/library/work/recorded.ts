/** Queue pairs on the recorder, and what reaches it. Import the recorder before this. */

import { assertEquals } from "@std/assert";
import {
  AccessFlags,
  AddressHandle,
  CompletionQueue,
  Context,
  MemoryRegion,
  Mtu,
  ProtectionDomain,
  type QpInitAttr,
  QpState,
  QpType,
  QueuePair,
  type SendRequest,
  SendRequestList,
} from "../../../mod.ts";
import * as recorder from "../../provider/recorder.ts";
import type { Fields } from "../../provider/records.ts";
import { testsOn } from "../recorded.ts";

/** The qkey of the tests. */
export const QKEY = 0x1111_1111;

/** A queue pair on the recorder with all that it needs. Disposing it closes the device. */
export interface Recorded extends Disposable {
  readonly context: Context;
  readonly pd: ProtectionDomain;
  readonly cq: CompletionQueue;
  readonly qp: QueuePair;
  readonly mr: MemoryRegion;
}

/**
 * Makes a queue pair of a type, ready to send.
 *
 * @param mtu The MTU of the port; `null` leaves the choice to the test.
 */
export function record(
  type: QpType,
  init: Partial<QpInitAttr> = {},
  mtu: Mtu | null = Mtu[1024],
): Recorded {
  recorder.reset();
  if (mtu !== null) recorder.answer("ibv_query_port", { active_mtu: mtu });
  const context = Context.open("recorder0");
  const pd = new ProtectionDomain(context);
  const cq = new CompletionQueue(context, { cqe: 64 });
  const mr = new MemoryRegion(pd, 4096, AccessFlags.LOCAL_WRITE);
  const cap = { maxSendWr: 16, maxRecvWr: 16, maxSendSge: 4, maxRecvSge: 4, maxInlineData: 64 };
  const qp = new QueuePair(
    pd,
    { qpType: type, sendCq: cq, recvCq: cq, cap, ...init } as QpInitAttr,
  );
  if (type === QpType.UD) qp.activateUd({ portNum: 1, qkey: QKEY });
  else for (const qpState of [QpState.INIT, QpState.RTR, QpState.RTS]) qp.modify({ qpState });
  recorder.take();
  return { context, pd, cq, qp, mr, [Symbol.dispose]: () => context.close() };
}

/** Tests with a queue pair of each type. */
export const onRc = testsOn(() => record(QpType.RC));
export const onUc = testsOn(() => record(QpType.UC));
export const onUd = testsOn(() => record(QpType.UD));

/** A handle for some peer. */
export function handle(pd: ProtectionDomain): AddressHandle {
  return new AddressHandle(pd, { portNum: 1, dlid: 7 });
}

/** A datagram to some peer. */
export function datagram({ pd, mr }: Recorded): SendRequest & { ah: AddressHandle } {
  return { sge: mr.sge(0, 8), ah: handle(pd), remoteQpn: 3, remoteQkey: QKEY };
}

/** The requests of one call that posts. */
export interface PostedRequest {
  /** `struct ibv_send_wr` or `struct ibv_recv_wr`, by its C fields. */
  readonly wr: Fields;
  /** Its scatter/gather elements. */
  readonly sges: readonly Fields[];
}

/** The requests that were posted since the last look, call by call. */
export function posted(verb = "ibv_post_send"): PostedRequest[][] {
  return recorder.takeOf(verb).map(({ args }) => {
    const requests: PostedRequest[] = [];
    for (let i = 0; args[`wr[${i}]`] !== undefined; i++) {
      const wr = args[`wr[${i}]`] as { readonly fields: Fields };
      const list = args[`wr[${i}].sg_list`] as { readonly elements: readonly Fields[] } | undefined;
      requests.push({ wr: wr.fields, sges: list?.elements ?? [] });
    }
    return requests;
  });
}

/** The `wr_id` of each request that was posted since the last look, call by call. */
export function postedIds(verb = "ibv_post_send"): number[][] {
  return posted(verb).map((requests) => requests.map(({ wr }) => Number(wr.wr_id)));
}

/** A list of datagrams, each to a handle. */
export function datagrams(ahs: readonly AddressHandle[]): SendRequestList {
  const list = new SendRequestList({ capacity: ahs.length });
  ahs.forEach((ah, i) => list.set(i, { remoteQpn: 3, remoteQkey: QKEY, ah }));
  return list;
}

/** Lets the next list fail at a request. */
export function failAt(index: number, verb = "ibv_post_send"): void {
  recorder.answerBytes(verb, new Uint8Array(Uint32Array.of(index).buffer));
  recorder.fail(verb, "ENOMEM", { times: 1 });
}

/** Completes so many sends, and polls them. */
export function completeSends({ qp, cq }: Pick<Recorded, "qp" | "cq">, count = 1): void {
  for (let i = 0; i < count; i++) recorder.complete("cq0", { qp_num: qp.qpNum });
  assertEquals(cq.poll().length, count);
}
