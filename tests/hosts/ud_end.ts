/** A UD queue pair that notes what it sends. */

import {
  AccessFlags,
  AddressHandle,
  type AhAttrInit,
  CompletionQueue,
  type Context,
  Gid,
  type GidEntry,
  Grh,
  MemoryRegion,
  ProtectionDomain,
  QpType,
  QueuePair,
  type WorkCompletion,
} from "../../mod.ts";
import { type Family, gidOf, openRxe, PORT, QKEY, waitFor } from "../device/setup.ts";
import type { Datagram } from "./expected.ts";
import type { Run } from "./host_case.ts";
import { ipOf } from "./network.ts";

/** Receives that are posted, and sends in progress. */
export const DEPTH = 16;
const SLOT = 2048;
/** The hop limit that Linux 6.1 gives unicast packets of rxe, that of the route, whatever the handle says. */
const HOP_LIMIT = 64;

/** What a peer must know. */
export interface UdPlace {
  readonly gid: string;
  readonly qpn: number;
}

/** Where a datagram goes. The addresses are those that it must have on the network. */
export interface Target extends Omit<Datagram, "payload" | "qkey" | "destQp" | "hopLimit"> {
  readonly ah: AddressHandle;
  readonly qpn: number;
}

/** A datagram that arrived. */
export interface Arrived {
  readonly wc: WorkCompletion;
  readonly grh: Grh;
  readonly payload: Uint8Array;
}

/** A UD queue pair with a device, receives and memory of its own. */
export class UdEnd implements Disposable {
  readonly context: Context;
  readonly pd: ProtectionDomain;
  readonly sendCq: CompletionQueue;
  readonly recvCq: CompletionQueue;
  readonly qp: QueuePair;
  /** Slots of 2048 bytes: first those of the receives, then those of the sends. */
  readonly mr: MemoryRegion;
  readonly #run: Run;
  readonly #psn: number;
  readonly #sent: Datagram[] = [];
  #nextSlot = 0;

  constructor(run: Run, psn = 0) {
    this.#run = run;
    this.#psn = psn;
    this.context = openRxe();
    this.pd = new ProtectionDomain(this.context);
    this.sendCq = new CompletionQueue(this.context, { cqe: 2 * DEPTH });
    this.recvCq = new CompletionQueue(this.context, { cqe: 2 * DEPTH });
    const cap = { maxSendWr: DEPTH, maxRecvWr: DEPTH };
    const { sendCq, recvCq } = this;
    this.qp = new QueuePair(this.pd, { type: QpType.UD, sendCq, recvCq, cap });
    this.qp.activateUd({ portNum: PORT, qkey: QKEY, sqPsn: psn });
    this.mr = new MemoryRegion(this.pd, 2 * DEPTH * SLOT, AccessFlags.LOCAL_WRITE);
    for (let i = 0; i < DEPTH; i++) this.post(i * SLOT);
  }

  /** What a peer must know to send to the GID of a family. */
  place(family: Family): UdPlace {
    return { gid: gidOf(this.context, family).gid.toString(), qpn: this.qp.qpNum };
  }

  /** Makes a handle for a place, by one of this host's GIDs. */
  async target(
    { gid, qpn }: UdPlace,
    from: GidEntry,
    more: Partial<AhAttrInit["grh"]> = {},
  ): Promise<Target> {
    const { trafficClass = 0 } = more;
    const grh = { dgid: Gid.parse(gid), sgidIndex: from.gidIndex, hopLimit: 1, ...more };
    const ah = await AddressHandle.createAsync(this.pd, { portNum: PORT, grh });
    return { ah, qpn, src: ipOf(from.gid), dst: ipOf(gid), trafficClass };
  }

  /** Posts a receive. */
  post(offset: number): void {
    this.qp.postRecv({ wrId: offset, sge: this.mr.slice(offset, SLOT) });
  }

  /** Waits for a datagram, and posts its receive again. */
  async receive(): Promise<Arrived> {
    const [wc] = await waitFor(this.recvCq);
    return this.take(wc!);
  }

  /** Copies the datagram of a completion, and posts its receive again. */
  take(wc: WorkCompletion): Arrived {
    const { wrId, byteLen } = wc.check();
    const offset = Number(wrId);
    const bytes = this.mr.bytes(offset, byteLen).slice();
    this.#run.count(1);
    this.post(offset);
    return { wc, grh: new Grh(bytes.subarray(0, Grh.SIZE)), payload: bytes.subarray(Grh.SIZE) };
  }

  /** Sends a datagram, and waits for the completion. */
  async send(target: Target, payload: Uint8Array): Promise<void> {
    const offset = (DEPTH + this.#nextSlot++ % DEPTH) * SLOT;
    this.mr.bytes(offset, payload.length).set(payload);
    const { ah, qpn } = target;
    const sge = this.mr.slice(offset, payload.length);
    this.qp.postSend({ sge, ah, remoteQpn: qpn, remoteQkey: QKEY });
    this.note(target, payload);
    (await waitFor(this.sendCq))[0]!.check();
  }

  /** Notes a datagram that was posted otherwise. */
  note(target: Omit<Target, "ah">, payload: Uint8Array): void {
    const { src, dst, trafficClass, qpn } = target;
    const packet = { src, dst, trafficClass, hopLimit: HOP_LIMIT, destQp: qpn, qkey: QKEY };
    this.#sent.push({ ...packet, payload: payload.toHex() });
  }

  /** Counts datagrams that were received otherwise. */
  countArrived(count: number): void {
    this.#run.count(count);
  }

  /** Closes the device. What was sent becomes what the packets must be. */
  [Symbol.dispose](): void {
    const { host } = this.#run.session;
    const srcQp = this.qp.qpNum;
    this.context.close();
    this.#run.expect({ host, srcQp, psn: this.#psn, packets: this.#sent });
  }
}

/** The payload of the message with that number: mostly short, no multiple of 4, sometimes a full packet. */
export function payloadOf(number: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(number % 8 === 7 ? 1024 : 4 + number * 37 % 101);
  new DataView(bytes.buffer).setUint32(0, number);
  for (let i = 4; i < bytes.length; i++) bytes[i] = number + i * 3;
  return bytes;
}

/** The answer to a payload. */
export function answerTo(payload: Uint8Array): Uint8Array {
  return payload.map((byte) => byte ^ 0xff);
}
