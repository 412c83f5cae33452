// What an end of an exchange can be told, and does by this library: tests/c/end.c has the same commands and does them in C.

import {
  AddressHandle,
  CompletionChannel,
  CompletionQueue,
  Context,
  Gid,
  MemoryRegion,
  type MemorySlice,
  Mtu,
  ProtectionDomain,
  type QpModifyAttr,
  QpState,
  QpType,
  QueuePair,
  type SendRequest,
  SharedReceiveQueue,
  VerbsError,
  WcOpcode,
  WrOpcode,
} from "../../../mod.ts";

const DEVICE = "shm0";
const CAP = { maxSendSge: 4, maxRecvSge: 4, maxInlineData: 256 };

/** What one end has made. All objects are known by their numbers, in the order in which they were made. */
class Objects {
  readonly context = Context.open(DEVICE);
  readonly channel = new CompletionChannel(this.context);
  pd = new ProtectionDomain(this.context);
  readonly mrs: MemoryRegion[] = [];
  readonly cqs: CompletionQueue[] = [];
  readonly srqs: SharedReceiveQueue[] = [];
  readonly qps: QueuePair[] = [];
  readonly ahs: AddressHandle[] = [];

  mr = (index: string): MemoryRegion => this.mrs[Number(index)]!;
  cq = (index: string): CompletionQueue => this.cqs[Number(index)]!;
  srq = (index: string): SharedReceiveQueue => this.srqs[Number(index)]!;
  qp = (index: string): QueuePair => this.qps[Number(index)]!;

  sges(words: readonly string[]): MemorySlice[] {
    const [mr, offset, length, ...others] = words;
    if (mr === undefined) return [];
    return [this.mr(mr).sge(Number(offset), Number(length)), ...this.sges(others)];
  }
}

const { RDMA_READ, RDMA_WRITE, RDMA_WRITE_WITH_IMM, SEND_WITH_IMM } = WrOpcode;
const { ATOMIC_CMP_AND_SWP, ATOMIC_FETCH_AND_ADD } = WrOpcode;

/** The attributes of a request's target that depend on its opcode. */
function target({ ahs }: Objects, qp: QueuePair, opcode: number, words: string[]): object {
  const [first, second, third, fourth] = words.map(BigInt) as [bigint, bigint, bigint, bigint];
  const rdma = { remoteAddr: first, rkey: Number(second) };
  if (opcode === ATOMIC_CMP_AND_SWP) return { ...rdma, compareAdd: third, swap: fourth };
  if (opcode === ATOMIC_FETCH_AND_ADD) return { ...rdma, compareAdd: third };
  if ([RDMA_READ, RDMA_WRITE, RDMA_WRITE_WITH_IMM].some((some) => some === opcode)) return rdma;
  if (qp.qpType !== QpType.UD) return {};
  return { ah: ahs[Number(first)]!, remoteQpn: Number(second), remoteQkey: Number(third) };
}

function pattern(offset: number, seed: number): number {
  return (offset * 7 + (offset >> 8) + seed) & 0xff;
}

/** Waits for so many messages by events, and answers the first `answers` of them. */
async function exchange(
  { mrs, qps, cqs }: Objects,
  qp: number,
  cq: number,
  count: number,
  answers: number,
): Promise<void> {
  const sge = mrs[0]!.sge(0, 64);
  let received = 0;
  for await (const wc of cqs[cq]!.completions()) {
    if (wc.check().opcode !== WcOpcode.RECV) continue;
    qps[qp]!.postRecv({ sge });
    if (received++ < answers) qps[qp]!.postSend({ sge, signaled: received % 8 === 0 });
    if (received === count) return;
  }
}

type Command = (objects: Objects, ...words: string[]) => unknown;

/** What is not a string or a number is answered by nothing. */
const COMMANDS: Readonly<Record<string, Command>> = {
  gid: ({ context }, port, index) => context.queryGid(Number(port), Number(index)).toString(),
  ports: ({ context }) => context.physPortCnt,
  pd: (o) => void (o.pd = new ProtectionDomain(o.context)),
  mr(o, length, access): string {
    const mr = new MemoryRegion(o.pd, Number(length), Number(access));
    o.mrs.push(mr);
    return `${BigInt(mr.remote.addr)} ${mr.rkey}`;
  },
  dereg: (o, mr) => o.mr(mr!)[Symbol.dispose](),
  fill(o, mr, offset, length, seed): void {
    const bytes = o.mr(mr!).sge(Number(offset), Number(length)).bytes;
    bytes.forEach((_, i) => bytes[i] = pattern(i, Number(seed)));
  },
  check(o, mr, offset, length, seed): number {
    const bytes = o.mr(mr!).sge(Number(offset), Number(length)).bytes;
    return bytes.findIndex((byte, i) => byte !== pattern(i, Number(seed)));
  },
  bytes: (o, mr, offset, length) => o.mr(mr!).sge(Number(offset), Number(length)).bytes.toHex(),
  cq({ context, channel, cqs }, cqe, hasChannel): number {
    const init = { cqe: Number(cqe), channel: hasChannel === "1" ? channel : null };
    return cqs.push(new CompletionQueue(context, init)) - 1;
  },
  arm: (o, cq, solicitedOnly) => o.cq(cq!).reqNotify(solicitedOnly === "1"),
  event({ channel, cqs }): number {
    const cq = channel.getCqEventSync({ timeout: 0 });
    return cq === undefined ? -1 : cqs.indexOf(cq);
  },
  async({ context, qps, srqs, cqs }): string | number {
    for (const { eventType, element } of context.eventsSync({ timeout: 0 })) {
      const objects: unknown[][] = [qps, srqs, cqs];
      return `${eventType} ${Math.max(...objects.map((list) => list.indexOf(element)))}`;
    }
    return -1;
  },
  poll: (o, cq, most) =>
    o.cq(cq!).poll(Number(most)).map((wc) => {
      const { wrId, status, opcode, byteLen, qpNum, srcQp, immData, wcFlags } = wc;
      return [wrId, status, opcode, byteLen, qpNum, srcQp, immData, wcFlags].join(" ");
    }).join(","),
  srq({ pd, srqs }, maxWr, srqLimit): number {
    const srq = new SharedReceiveQueue(pd, { maxWr: Number(maxWr), maxSge: 4 });
    if (srqLimit !== "0") srq.modify({ srqLimit: Number(srqLimit) });
    return srqs.push(srq) - 1;
  },
  qp(o, type, cq, srq, wr, sqSigAll): string {
    const queues = { sendCq: o.cq(cq!), recvCq: o.cq(cq!), srq: o.srqs[Number(srq)] };
    const cap = { ...CAP, maxSendWr: Number(wr), maxRecvWr: queues.srq ? 0 : Number(wr) };
    const { srq: shared, ...others } = queues;
    const init = { ...others, ...shared && { srq: shared }, cap, sqSigAll: sqSigAll === "1" };
    const qp = new QueuePair(o.pd, { qpType: Number(type) as typeof QpType.RC, ...init });
    return `${o.qps.push(qp) - 1} ${qp.qpNum}`;
  },
  init(o, qp, portNum, key): void {
    const own = o.qp(qp!);
    const rights = own.qpType === QpType.UD
      ? { qkey: Number(key) }
      : { qpAccessFlags: Number(key) };
    own.modify({ qpState: QpState.INIT, pkeyIndex: 0, portNum: Number(portNum), ...rights });
  },
  rtr(o, qp, portNum, sgidIndex, gid, destQpNum, minRnrTimer): void {
    const own = o.qp(qp!);
    const attr: QpModifyAttr = { qpState: QpState.RTR };
    if (own.qpType === QpType.UD) return own.modify(attr);
    const grh = { dgid: Gid.parse(gid!), sgidIndex: Number(sgidIndex), hopLimit: 64 };
    const path = { ahAttr: { portNum: Number(portNum), grh }, pathMtu: Mtu[4096], rqPsn: 0 };
    const peer = { ...attr, ...path, destQpNum: Number(destQpNum) };
    if (own.qpType === QpType.UC) return own.modify(peer);
    own.modify({ ...peer, maxDestRdAtomic: 16, minRnrTimer: Number(minRnrTimer) });
  },
  rts(o, qp, timeout, retryCnt, rnrRetry): void {
    const own = o.qp(qp!);
    const attr: QpModifyAttr = { qpState: QpState.RTS, sqPsn: 0 };
    if (own.qpType !== QpType.RC) return own.modify(attr);
    const patience = { timeout: Number(timeout), retryCnt: Number(retryCnt) };
    own.modify({ ...attr, ...patience, rnrRetry: Number(rnrRetry), maxRdAtomic: 16 });
  },
  modify: (o, qp, state) => o.qp(qp!).modify({ qpState: Number(state) as QpState }),
  state: (o, qp) => o.qp(qp!).query().attr.qpState,
  destroy: (o, qp) => o.qp(qp!)[Symbol.dispose](),
  ah({ pd, ahs }, portNum, sgidIndex, gid): number {
    const grh = { dgid: Gid.parse(gid ?? "::"), sgidIndex: Number(sgidIndex), hopLimit: 64 };
    const attr = { portNum: Number(portNum), dlid: 1, ...gid !== undefined && { grh } };
    return ahs.push(new AddressHandle(pd, attr)) - 1;
  },
  join: (o, qp, gid) => o.qp(qp!).attachMcast(Gid.parse(gid!)),
  leave: (o, qp, gid) => o.qp(qp!).detachMcast(Gid.parse(gid!)),
  recv: (o, qp, wrId, ...sges) => o.qp(qp!).postRecv({ wrId: Number(wrId), sge: o.sges(sges) }),
  srqrecv: (o, srq, wrId, ...sges) =>
    o.srq(srq!).postRecv({ wrId: Number(wrId), sge: o.sges(sges) }),
  send(o, qp, ...words): void {
    const [wrId, opcode, sendFlags, immData] = words.slice(0, 4).map(Number);
    const request = { wrId, opcode, sendFlags, sge: o.sges(words.slice(8)) };
    const hasImm = opcode === SEND_WITH_IMM || opcode === RDMA_WRITE_WITH_IMM;
    const to = target(o, o.qp(qp!), opcode!, words.slice(4, 8));
    o.qp(qp!).postSend({ ...request, ...hasImm && { immData }, ...to } as SendRequest);
  },
  async play(o, qp, cq, count): Promise<void> {
    o.qp(qp!).postSend({ sge: o.mrs[0]!.sge(0, 64), signaled: false });
    await exchange(o, Number(qp), Number(cq), Number(count), Number(count) - 1);
  },
  serve: (o, qp, cq, count) => exchange(o, Number(qp), Number(cq), Number(count), Number(count)),
};

/** An end that does what it is told, a line at a time. */
export class Interpreter implements Disposable {
  #objects: Objects | undefined;

  /** Does a command. "open" ends all that was made before. */
  async run(line: string): Promise<string> {
    const [command, ...words] = line.split(" ");
    if (command === "open") {
      this[Symbol.dispose]();
      this.#objects = new Objects();
      return "";
    }
    try {
      const answer = await COMMANDS[command!]!(this.#objects!, ...words);
      return typeof answer === "number" || typeof answer === "string" ? String(answer) : "";
    } catch (error) {
      if (error instanceof VerbsError) return `! ${error.code}`;
      // What C hears from the device, this library finds before.
      if (/^(Range|Type)Error: Cannot (post|set request|use)/.test(String(error))) {
        return "! EINVAL";
      }
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#objects?.context.close();
    this.#objects = undefined;
  }
}
