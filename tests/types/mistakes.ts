/**
 * What those who begin mix up, one mistake a line. The types catch each of them: `deno check` refuses an
 * `@ts-expect-error` above a line that is right. Nothing here runs.
 */

import {
  AccessFlags,
  AddressHandle,
  type CompletionQueue,
  Context,
  Gid,
  MemoryRegion,
  Mtu,
  nameOf,
  type ProtectionDomain,
  QpState,
  QpType,
  QueuePair,
  ReplyPath,
  type SendRequestList,
  WcFlags,
  WcOpcode,
  WcStatus,
  type WorkCompletion,
  WrOpcode,
} from "../../mod.ts";
import { connectRc, listenUd, RcConn, RcListener, UdConn } from "../../net/mod.ts";

/** Objects that are right. */
interface Given {
  readonly context: Context;
  readonly pd: ProtectionDomain;
  readonly cq: CompletionQueue;
  readonly mr: MemoryRegion;
  readonly qp: QueuePair;
  readonly ah: AddressHandle;
  readonly wc: WorkCompletion;
  readonly list: SendRequestList;
  readonly conn: RcConn;
  readonly bytes: number;
}

export function ofQueuePairs({ context, pd, cq, qp, bytes }: Given): void {
  const cap = { maxSendWr: 1, maxRecvWr: 1 };
  const cqs = { sendCq: cq, recvCq: cq };
  // @ts-expect-error A state where the type is asked.
  new QueuePair(pd, { qpType: QpState.RTS, ...cqs, cap });
  // @ts-expect-error The name of the type.
  new QueuePair(pd, { qpType: "RC", ...cqs, cap });
  // @ts-expect-error No type.
  new QueuePair(pd, { ...cqs, cap });
  // @ts-expect-error No `sendCq`.
  new QueuePair(pd, { qpType: QpType.RC, recvCq: cq, cap });
  // @ts-expect-error No `recvCq`.
  new QueuePair(pd, { qpType: QpType.UD, sendCq: cq, cap });
  // @ts-expect-error No `cap`.
  new QueuePair(pd, { qpType: QpType.RC, ...cqs });
  // @ts-expect-error An empty `cap`.
  new QueuePair(pd, { qpType: QpType.RC, ...cqs, cap: {} });
  // @ts-expect-error No `maxRecvWr`, and no shared receive queue.
  new QueuePair(pd, { qpType: QpType.RC, ...cqs, cap: { maxSendWr: 1 } });
  // @ts-expect-error The name of an attribute in C.
  new QueuePair(pd, { qpType: QpType.RC, send_cq: cq, recv_cq: cq, cap });
  // @ts-expect-error The context where the protection domain is asked.
  new QueuePair(context, { qpType: QpType.RC, ...cqs, cap });
  // @ts-expect-error The handle of a completion queue.
  new QueuePair(pd, { qpType: QpType.RC, sendCq: cq.unsafeHandle, recvCq: cq, cap });
  // @ts-expect-error The type where a state is asked.
  qp.modify({ qpState: QpType.RC });
  // @ts-expect-error The name of the state.
  qp.modify({ qpState: "RTS" });
  // @ts-expect-error The MTU in bytes.
  qp.modify({ pathMtu: 1024 });
  // @ts-expect-error The MTU in bytes, as a variable.
  qp.modify({ pathMtu: bytes });
  // @ts-expect-error A state of path migration is not a state.
  qp.modify({ pathMigState: QpState.INIT });
  // @ts-expect-error The bytes of a GID.
  qp.modify({ ahAttr: { portNum: 1, grh: { dgid: new Uint8Array(16), sgidIndex: 1 } } });
  // @ts-expect-error No qkey.
  qp.activateUd({ portNum: 1 });
}

export function ofConstructors(_: Given): void {
  // @ts-expect-error The name of a device: Context.open() takes it.
  new Context("mlx5_0");
  // @ts-expect-error Only the library makes connections.
  new UdConn({ qkey: 1 });
  // @ts-expect-error Only the library makes connections.
  new RcConn({ hostname: "10.0.0.2", port: 7471 });
  // @ts-expect-error Only the library makes listeners.
  new RcListener({ port: 7471 });
}

export function ofRequests({ qp, mr, ah, list, wc }: Given): void {
  const sge = mr.sge(0, 8);
  const remote = { remoteAddr: 8n, rkey: 1 };
  // @ts-expect-error An RDMA write without `rkey`.
  qp.postSend({ opcode: WrOpcode.RDMA_WRITE, sge, remoteAddr: 8n });
  // @ts-expect-error An RDMA read without an address.
  qp.postSend({ opcode: WrOpcode.RDMA_READ, sge, rkey: 1 });
  // @ts-expect-error An address, and no opcode.
  qp.postSend({ sge, ...remote });
  // @ts-expect-error An address, and an opcode that has none.
  qp.postSend({ opcode: WrOpcode.SEND, sge, rkey: 1 });
  // @ts-expect-error Immediate data, and no opcode that has it.
  qp.postSend({ sge, immData: 7 });
  // @ts-expect-error An addition without the number to add.
  qp.postSend({ opcode: WrOpcode.ATOMIC_FETCH_AND_ADD, sge, ...remote });
  // @ts-expect-error A compare and swap without the new value.
  qp.postSend({ opcode: WrOpcode.ATOMIC_CMP_AND_SWP, sge, ...remote, compareAdd: 1n });
  // @ts-expect-error The opcode of a completion.
  qp.postSend({ opcode: WcOpcode.SEND, sge });
  // @ts-expect-error The opcode of the completion before.
  qp.postSend({ opcode: wc.opcode, sge });
  // @ts-expect-error An opcode that only builders offer.
  qp.postSend({ opcode: WrOpcode.TSO, sge });
  // @ts-expect-error Bytes where a part of a region is asked.
  qp.postSend({ sge: mr.sge(0, 8).bytes });
  // @ts-expect-error The number of the handle.
  qp.postSend({ sge, ah: ah.unsafeHandle, remoteQpn: 1, remoteQkey: 1 });
  // @ts-expect-error A datagram without `remoteQkey`.
  qp.postSend({ sge, ah, remoteQpn: 1 });
  // @ts-expect-error A datagram without `remoteQpn`.
  qp.postSend([{ opcode: WrOpcode.SEND_WITH_IMM, sge, ah, remoteQkey: 1 }]);
  // @ts-expect-error An address handle of a receive.
  qp.postRecv({ sge, ah });
  // @ts-expect-error A list of sends as receives.
  qp.postRecv(list);
}

export function ofMemoryAndCompletions({ context, pd, mr, wc, ah }: Given): void {
  // @ts-expect-error No access flags.
  new MemoryRegion(pd, 4096);
  // @ts-expect-error The name of a flag.
  new MemoryRegion(pd, 4096, "LOCAL_WRITE");
  // @ts-expect-error The context where the protection domain is asked.
  new MemoryRegion(context, 4096, AccessFlags.LOCAL_WRITE);
  // @ts-expect-error A status that is an opcode.
  if (wc.status === WcOpcode.SEND) return;
  // @ts-expect-error The opcode of a send request.
  if (wc.opcode === WrOpcode.SEND) return;
  // @ts-expect-error A completion has no `success`.
  if (wc.success) return;
  // @ts-expect-error The identifier is a bigint.
  if (wc.wrId === 1) return;
  // @ts-expect-error No port.
  AddressHandle.fromWc(pd, wc, mr.grhAt(0));
  // @ts-expect-error The address as text.
  new AddressHandle(pd, "10.0.0.2");
  // @ts-expect-error A reply path answers a packet, not a handle.
  new ReplyPath(pd, { portNum: 1 }).to(ah);
}

export async function ofConnections({ conn }: Given): Promise<void> {
  // @ts-expect-error Nobody to connect to.
  await connectRc({});
  // @ts-expect-error Both ways to find the peer.
  await connectRc({ tcpPort: 1, exchange: () => Promise.resolve() });
  // @ts-expect-error A port of no host.
  await connectRc({ port: 7471 });
  // @ts-expect-error The port under another name.
  await connectRc({ hostname: "10.0.0.2", port: 1, tcp: 7471 });
  // @ts-expect-error Text instead of bytes.
  await conn.send("hello");
  // @ts-expect-error The transport of connections.
  await using _udp = listenUd({ transport: "RC" });
}

/** What is right compiles: the types refuse no more than that. */
export function right({ pd, cq, qp, mr, ah, wc }: Given): string {
  const sge = mr.sge(0, 8);
  const init = { qpType: QpType.UD, sendCq: cq, recvCq: cq, cap: { maxSendWr: 1, maxRecvWr: 1 } };
  new QueuePair(pd, init);
  if (qp.srq) new QueuePair(pd, { ...init, cap: { maxSendWr: 1 }, srq: qp.srq });
  qp.modify({ qpState: QpState.RTR, pathMtu: Mtu[1024] });
  qp.modify({ ahAttr: { portNum: 1, grh: { dgid: "10.0.0.2", sgidIndex: 1 } } });
  qp.postSend([{ sge }, { sge, ah, remoteQpn: 1, remoteQkey: 1 }]);
  const opcode = wc.wcFlags & WcFlags.GRH ? WrOpcode.RDMA_READ : WrOpcode.RDMA_WRITE_WITH_IMM;
  qp.postSend({ opcode, sge, remoteAddr: 8n, rkey: 1 });
  switch (wc.status) {
    case WcStatus.SUCCESS:
      return Gid.parse("::").toString();
    default:
      return nameOf(WcStatus, wc.status);
  }
}
