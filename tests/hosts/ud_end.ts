/** A UD queue pair that notes what it sends. */

import {
  AddressHandle,
  Gid,
  type GidEntry,
  Grh,
  QpType,
  type QueuePair,
  type WorkCompletion,
} from "../../mod.ts";
import { type Family, gidOf, OpenDevice, PORT, QKEY, RXE, waitFor } from "../device/setup.ts";
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

/** A device with a UD queue pair, receives and memory. */
export class UdEnd extends OpenDevice {
  readonly #sendCq = this.newCq(2 * DEPTH);
  readonly #recvCq = this.newCq(2 * DEPTH);
  readonly #qp: QueuePair = this.newQp(QpType.UD, {
    sendCq: this.#sendCq,
    recvCq: this.#recvCq,
    cap: { maxSendWr: DEPTH, maxRecvWr: DEPTH },
  });
  /** Slots of 2048 bytes: first those of the receives, then those of the sends. */
  readonly #mr = this.newMr(2 * DEPTH * SLOT);
  readonly #run: Run;
  readonly #sent: Datagram[] = [];
  #nextSlot = 0;

  constructor(run: Run) {
    super(RXE);
    this.#run = run;
    this.#qp.activateUd({ portNum: PORT, qkey: QKEY });
    for (let i = 0; i < DEPTH; i++) this.#post(i * SLOT);
  }

  /** What a peer must know to send to the GID of a family. */
  place(family: Family): UdPlace {
    return { gid: gidOf(this.context, family).gid.toString(), qpn: this.#qp.qpNum };
  }

  /** Makes a handle for a place, by one of this host's GIDs. */
  async target({ gid, qpn }: UdPlace, from: GidEntry): Promise<Target> {
    const grh = { dgid: Gid.parse(gid), sgidIndex: from.gidIndex, hopLimit: 1 };
    const ah = await AddressHandle.createAsync(this.pd, { portNum: PORT, grh });
    return { ah, qpn, src: ipOf(from.gid), dst: ipOf(gid), trafficClass: 0 };
  }

  #post(offset: number): void {
    this.#qp.postRecv({ wrId: offset, sge: this.#mr.sge(offset, SLOT) });
  }

  /** Waits for a datagram, and posts its receive again. */
  async receive(): Promise<Arrived> {
    const [wc] = await waitFor(this.#recvCq);
    const { wrId, byteLen } = wc!.check();
    const bytes = this.#mr.sge(Number(wrId), byteLen).bytes.slice();
    this.#run.count(1);
    this.#post(Number(wrId));
    const [grh, payload] = [bytes.subarray(0, Grh.SIZE), bytes.subarray(Grh.SIZE)];
    return { wc: wc!, grh: new Grh(grh), payload };
  }

  /** Sends a datagram, and waits for the completion. */
  async send({ ah, qpn, ...route }: Target, payload: Uint8Array): Promise<void> {
    const offset = (DEPTH + this.#nextSlot++ % DEPTH) * SLOT;
    this.#mr.sge(offset, payload.length).bytes.set(payload);
    const sge = this.#mr.sge(offset, payload.length);
    this.#qp.postSend({ sge, ah, remoteQpn: qpn, remoteQkey: QKEY });
    const packet = { ...route, hopLimit: HOP_LIMIT, destQp: qpn, qkey: QKEY };
    this.#sent.push({ ...packet, payload: payload.toHex() });
    (await waitFor(this.#sendCq))[0]!.check();
  }

  /** Closes the device. What was sent becomes what the packets must be. */
  override [Symbol.dispose](): void {
    const { host } = this.#run.session;
    const srcQp = this.#qp.qpNum;
    super[Symbol.dispose]();
    this.#run.expect({ host, srcQp, psn: 0, packets: this.#sent });
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
