// What tests make their objects with: a device that is open, a protection domain, and short ways to the rest.

import {
  AccessFlags,
  CompletionQueue,
  Context,
  MemoryRegion,
  ProtectionDomain,
  type QpInitAttr,
  QpType,
  QueuePair,
} from "../../mod.ts";

const { LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, MW_BIND } = AccessFlags;
/** All that peers may do. */
export const REMOTE_ACCESS = REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;

/** A device that is open. Disposing it closes the device, and with it all that was made on it. */
export class OpenDevice implements Disposable {
  readonly context: Context;
  readonly pd: ProtectionDomain;
  #cq: CompletionQueue | undefined;

  constructor(device: string) {
    this.context = Context.open(device);
    this.pd = new ProtectionDomain(this.context);
  }

  /** A completion queue of 63 entries, made when it is first asked for. */
  get cq(): CompletionQueue {
    return this.#cq ??= this.newCq();
  }

  /** Another completion queue. */
  newCq(cqe = 63): CompletionQueue {
    return new CompletionQueue(this.context, { cqe });
  }

  /** Memory that peers may do everything with, and that windows can be bound to. */
  newMr(length = 4096, access = LOCAL_WRITE | REMOTE_ACCESS | MW_BIND): MemoryRegion {
    return new MemoryRegion(this.pd, length, access);
  }

  /** What a queue pair is made of: `cq`, and room for 4 sends and receives. */
  qpInit(type: QpType = QpType.UD): QpInitAttr {
    const { cq } = this;
    return { qpType: type, sendCq: cq, recvCq: cq, cap: { maxSendWr: 4, maxRecvWr: 4 } };
  }

  /** A queue pair in state RESET. */
  newQp(type: QpType = QpType.UD, init: Partial<QpInitAttr> = {}): QueuePair {
    return new QueuePair(this.pd, { ...this.qpInit(type), ...init } as QpInitAttr);
  }

  [Symbol.dispose](): void {
    this.context.close();
  }
}

/** A queue pair with a completion queue and memory of its own. */
export interface End {
  /** The queue pair; it sends and receives on `cq`. */
  readonly qp: QueuePair;
  /** Where its work completes. */
  readonly cq: CompletionQueue;
  /** 64 KiB that may be received into, that peers may do everything with, and that windows can be bound to. */
  readonly mr: MemoryRegion;
}

/** Makes a queue pair, in state RESET, with room for 64 sends and receives of 4 elements. */
export function makeEnd(pd: ProtectionDomain, type: QpType, init: Partial<QpInitAttr> = {}): End {
  const cq = init.sendCq ?? new CompletionQueue(pd.context, { cqe: 256 });
  const cap = { maxSendWr: 64, maxRecvWr: 64, maxSendSge: 4, maxRecvSge: 4, maxInlineData: 64 };
  const qp = new QueuePair(
    pd,
    { qpType: type, sendCq: cq, recvCq: cq, cap, ...init } as QpInitAttr,
  );
  return { qp, cq, mr: new MemoryRegion(pd, 65536, LOCAL_WRITE | REMOTE_ACCESS | MW_BIND) };
}
