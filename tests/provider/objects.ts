// What most requests need.

import { assertEquals } from "@std/assert";
import {
  AccessFlags,
  AddressHandle,
  CompletionQueue,
  Context,
  Gid,
  MemoryRegion,
  ProtectionDomain,
  type QpType,
  QueuePair,
} from "../../mod.ts";
import * as recorder from "./recorder.ts";

const { LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, MW_BIND } = AccessFlags;
/** The access of {@linkcode RecorderObjects.mr}. */
const ACCESS = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | MW_BIND;
/** The size of {@linkcode RecorderObjects.mr} in bytes. */
const MEMORY = 4096;

/** Objects on the recorder, each made on first use. Leaving its scope asserts that all of them end in order. */
export class RecorderObjects implements Disposable {
  readonly context: Context;
  #pd: ProtectionDomain | undefined;
  #cq: CompletionQueue | undefined;
  #mr: MemoryRegion | undefined;

  constructor() {
    recorder.reset();
    this.context = Context.open("recorder0");
  }

  get pd(): ProtectionDomain {
    return this.#pd ??= new ProtectionDomain(this.context);
  }

  get cq(): CompletionQueue {
    return this.#cq ??= new CompletionQueue(this.context, { cqe: 16, channel: null });
  }

  /** A region that holds 0, 1, 2, ... */
  get mr(): MemoryRegion {
    if (this.#mr === undefined) {
      this.#mr = new MemoryRegion(this.pd, MEMORY, ACCESS);
      this.#mr.bytes.set(Uint8Array.from({ length: MEMORY }, (_, i) => i));
    }
    return this.#mr;
  }

  /** This, with all of the above made. */
  get whole(): this {
    this.mr;
    this.cq;
    return this;
  }

  qp(type: QpType): QueuePair {
    const cap = { maxSendWr: 4, maxRecvWr: 4, maxSendSge: 2, maxRecvSge: 2, maxInlineData: 64 };
    return new QueuePair(this.pd, { qpType: type, sendCq: this.cq, recvCq: this.cq, cap });
  }

  ah(): AddressHandle {
    const grh = { dgid: Gid.parse("::ffff:10.0.0.2"), sgidIndex: 1, hopLimit: 64 };
    return new AddressHandle(this.pd, { portNum: 1, grh });
  }

  [Symbol.dispose](): void {
    this.context.close();
    assertEquals(recorder.violations(), []);
    assertEquals(recorder.live(), 0);
  }
}
