/**
 * What the device tests share. Importing it opens libibverbs, so that the resource sanitizer does not take that for a
 * leak of the first test, and throws where there is no soft-RoCE device: these tests never pass without one.
 */

import { assertEquals } from "@std/assert";
import { bindAll } from "../../ffi/library.ts";
import { openSteps } from "../../ffi/library/native_steps.ts";
import {
  AddressHandle,
  type AhAttrInit,
  type CompletionQueue,
  Gid,
  Grh,
  Mtu,
  type ProtectionDomain,
  type QpInitAttr,
  QpState,
  QpType,
  type QueuePair,
  type WcAddress,
  WcFlags,
  type WorkCompletion,
} from "../../mod.ts";
import { standIn } from "./stand_in_device.ts";
import { type End, makeEnd, OpenDevice, REMOTE_ACCESS } from "./open_device.ts";
import { resourceCounts } from "./resource_counts.ts";
import { PORT, QKEY, RXE, selfAddress, withDeadline } from "./rxe.ts";

export { type End, makeEnd, OpenDevice, REMOTE_ACCESS } from "./open_device.ts";
export {
  type Family,
  gidOf,
  openRxe,
  PORT,
  QKEY,
  RXE,
  selfAddress,
  sysfs,
  until,
  withDeadline,
} from "./rxe.ts";
export { type ResourceCounts, resourceCounts } from "./resource_counts.ts";

bindAll();
openSteps();

if (standIn.device === undefined) resourceCounts();

/** What a path must know of a completion whose packet has a GRH. */
export const WITH_GRH: WcAddress = { wcFlags: WcFlags.GRH, slid: 0, sl: 0, dlidPathBits: 0 };

/** The header of an IPv4 packet, as rxe leaves it. */
export function ipv4Grh(from: string, to: string = from, tos = 0): Grh {
  const bytes = new Uint8Array(Grh.SIZE);
  bytes.set([0x45, tos, 0, 0, 0, 0, 0, 0, 64, 17], 20);
  for (const [i, address] of [from, to].entries()) {
    bytes.set(Gid.parse(address).bytes.subarray(12), 32 + 4 * i);
  }
  return new Grh(bytes);
}

/** The soft-RoCE device, open. */
export function rxe(): OpenDevice {
  return new OpenDevice(RXE);
}

/** Two ends in one protection domain; disposing it closes the device. */
export class Pair<E extends End = End> extends OpenDevice {
  readonly left: E;
  readonly right: E;
  #ah: AddressHandle | undefined;

  /** Makes two ends in the same way. */
  constructor(make: (pd: ProtectionDomain) => E, device: string = RXE) {
    super(device);
    [this.left, this.right] = [make(this.pd), make(this.pd)];
  }

  /** An address handle to the device itself, made when it is first asked for. */
  get ah(): AddressHandle {
    return this.#ah ??= new AddressHandle(this.pd, selfAddress(this.context));
  }

  /** Where datagrams to the right end go. */
  get toRight(): { ah: AddressHandle; remoteQpn: number; remoteQkey: number } {
    return { ah: this.ah, remoteQpn: this.right.qp.qpNum, remoteQkey: QKEY };
  }

  /** The memory of the right end, as requests name it. */
  get remote(): { remoteAddr: bigint; rkey: number } {
    const { addr, rkey } = this.right.mr;
    return { remoteAddr: addr, rkey };
  }
}

/** Two UD queue pairs on the device's port, ready to send. */
export function udPair(init: Partial<QpInitAttr> = {}): Pair {
  return new Pair((pd) => {
    const end = makeEnd(pd, QpType.UD, init);
    end.qp.activateUd({ portNum: PORT, qkey: QKEY });
    return end;
  });
}

/** Two ends of the same making. */
export function pairOf<E extends End>(make: (pd: ProtectionDomain) => E): Pair<E> {
  return new Pair(make);
}

/** Two RC or UC queue pairs, connected to each other. */
export function connectedPair(type: QpType = QpType.RC): Pair {
  return connected(pairOf((pd) => makeEnd(pd, type)));
}

/** Connects the two ends of a pair. */
export function connected<E extends End>(pair: Pair<E>): Pair<E> {
  const { left: { qp }, right: { qp: peer } } = pair;
  connect(qp, peer.qpNum, selfAddress(pair.context));
  connect(peer, qp.qpNum, selfAddress(pair.context));
  return pair;
}

/** Takes an RC or UC queue pair up to RTS. */
export function connect(qp: QueuePair, destQpNum: number, ahAttr: AhAttrInit): void {
  const isReliable = qp.qpType === QpType.RC;
  const { INIT, RTR, RTS } = QpState;
  qp.modify({ qpState: INIT, pkeyIndex: 0, portNum: PORT, qpAccessFlags: REMOTE_ACCESS });
  const receiving = isReliable ? { maxDestRdAtomic: 16, minRnrTimer: 12 } : {};
  const path = { ahAttr, pathMtu: Mtu[1024], destQpNum, rqPsn: 100 };
  qp.modify({ qpState: RTR, ...path, ...receiving });
  const retries = { timeout: 14, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 16 };
  qp.modify({ qpState: RTS, sqPsn: 100, ...isReliable ? retries : {} });
}

/** Waits for that many completions of a queue; throws if they do not come. */
export async function waitFor(cq: CompletionQueue, count = 1): Promise<WorkCompletion[]> {
  const found: WorkCompletion[] = [];
  const late = new Error(`Cannot wait for ${count} completions: they do not come`);
  await withDeadline(late, async (signal) => {
    for await (const completion of cq.completions({ signal })) {
      found.push(completion);
      if (found.length >= count) return;
    }
  });
  return found;
}

/** How many objects of one kind the kernel holds for the soft-RoCE device. */
export function countOf(kind: "pd" | "cq" | "qp" | "mr" | "ctx"): number {
  return resourceCounts()[RXE]![kind]!;
}

/**
 * Registers a test that fails when the kernel holds other objects after it than before. An address handle left behind
 * shows as well: it keeps its protection domain.
 */
export function deviceTest(name: string, body: () => void | Promise<void>): void {
  if (standIn.test !== undefined) return standIn.test(name, body);
  Deno.test(name, async () => {
    const before = resourceCounts();
    await body();
    assertEquals(resourceCounts(), before, "the test left kernel objects behind");
  });
}
