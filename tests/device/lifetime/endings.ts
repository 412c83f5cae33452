// Makes one object of each kind, with work posted on all that take work, and then ends in the ways that the arguments name.

import {
  AccessFlags,
  AddressHandle,
  CompletionChannel,
  CompletionQueue,
  type Context,
  Gid,
  MemoryRegion,
  MemoryWindow,
  MwType,
  ProtectionDomain,
  QpType,
  QueuePair,
  ReplyPath,
  SharedReceiveQueue,
} from "../../../mod.ts";
import { openRxe, PORT, QKEY, selfAddress } from "../rxe.ts";

const SIZE = 4096;
const RECVS = 32;
const SENDS = 16;
/** An address without a host: the kernel looks for it for about three seconds. */
const NOBODY = "::ffff:10.0.0.77";

/** Objects that use each other. */
export interface Everything {
  readonly context: Context;
  readonly pd: ProtectionDomain;
  readonly cq: CompletionQueue;
  readonly mr: MemoryRegion;
  readonly ud: QueuePair;
  readonly ah: AddressHandle;
}

/** Makes all objects. */
export function makeEverything(): Everything {
  const context = openRxe();
  const pd = new ProtectionDomain(context);
  const cq = new CompletionQueue(context, { cqe: 256, channel: new CompletionChannel(context) });
  const mr = new MemoryRegion(pd, SIZE * RECVS, AccessFlags.LOCAL_WRITE);
  const cap = { maxSendWr: 64, maxRecvWr: 64 };
  const ud = new QueuePair(pd, { qpType: QpType.UD, sendCq: cq, recvCq: cq, cap });
  ud.activateUd({ portNum: PORT, qkey: QKEY });
  const srq = new SharedReceiveQueue(pd, { maxWr: 8 });
  srq.postRecv({ sge: mr.sge(0, 64) });
  const rc = new QueuePair(pd, {
    qpType: QpType.RC,
    sendCq: cq,
    recvCq: cq,
    srq,
    cap: { maxSendWr: 64 },
  });
  rc.init({ portNum: PORT, gidIndex: 0 });
  new MemoryWindow(pd, MwType.TYPE_2);
  new ReplyPath(pd, { portNum: PORT, maxPeers: 4 });
  return { context, pd, cq, mr, ud, ah: new AddressHandle(pd, selfAddress(context)) };
}

/** Posts receives, and sends to them that may not have completed yet. */
export function postWork({ ud, mr, ah }: Everything): void {
  for (let i = 0; i < RECVS; i++) ud.postRecv({ sge: mr.sge(SIZE * i, 1024) });
  sendAll(ud, ud.qpNum, mr, ah);
}

function sendAll(ud: QueuePair, remoteQpn: number, mr: MemoryRegion, ah: AddressHandle): void {
  for (let i = 0; i < SENDS; i++) {
    ud.postSend({ sge: mr.sge(2048, 512), ah, remoteQpn, remoteQkey: QKEY });
  }
}

/** Waits for completions, for events and for the kernel; nobody looks at the outcome. */
export function waitForAll({ context, pd, cq }: Everything): void {
  const ignore = (): void => {};
  cq.completions().next().then(() => cq.completions().next()).catch(ignore);
  context.events().next().catch(ignore);
  const grh = { ...selfAddress(context).grh!, dgid: Gid.parse(NOBODY) };
  AddressHandle.createAsync(pd, { portNum: PORT, grh }).catch(ignore);
  MemoryRegion.createAsync(pd, SIZE, AccessFlags.LOCAL_WRITE).catch(ignore);
}

/** Lets the garbage collector run while the device works. */
async function collect(): Promise<void> {
  for (let i = 0; i < 10; i++) {
    (globalThis as unknown as { gc: () => void }).gc();
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

async function received(cq: CompletionQueue, count: number): Promise<void> {
  for await (const { ok } of cq.completions()) if (ok && --count === 0) return;
}

/** Everything is forgotten with receives posted, and the device writes there afterwards. */
async function forget(): Promise<void> {
  const remoteQpn = (() => {
    const all = makeEverything();
    const { ud, pd } = all;
    const bytes = new Uint8Array(SIZE * SENDS);
    const mr = new MemoryRegion(pd, bytes, AccessFlags.LOCAL_WRITE);
    for (let i = 0; i < SENDS; i++) ud.postRecv({ sge: mr.sge(SIZE * i, 1024) });
    waitForAll(all);
    return ud.qpNum;
  })();
  await collect();
  const others = Array.from({ length: 500 }, () => new Uint8Array(SIZE).fill(0x11));
  const { ud, mr, ah, cq } = makeEverything();
  sendAll(ud, remoteQpn, mr, ah);
  await received(cq, SENDS);
  await collect();
  if (others.some((bytes) => bytes.some((byte) => byte !== 0x11))) {
    throw new Error("The device wrote into memory of others");
  }
  Deno.exit(0);
}

const ENDINGS: Readonly<Record<string, (all: Everything) => unknown>> = {
  exit: () => Deno.exit(7),
  throw: () => {
    throw new Error("Cannot go on: this is a test");
  },
  reject: () => void Promise.reject(new Error("Cannot go on: this is a test")),
  kill: () => Deno.kill(Deno.pid, "SIGKILL"),
  "close the context": ({ context }) => context.close(),
  "close the protection domain": ({ pd, context }) => {
    pd.close();
    context.close();
  },
  "close the memory": async ({ mr, context }) => {
    mr.close();
    await new Promise((resolve) => setTimeout(resolve, 20));
    context.close();
  },
  "close the queue with an unread event": async ({ cq, context, ud, mr, ah }) => {
    cq.reqNotify();
    sendAll(ud, ud.qpNum, mr, ah);
    await new Promise((resolve) => setTimeout(resolve, 20));
    cq.close();
    context.close();
  },
  "close the address handle": ({ ah, context }) => {
    ah.close();
    context.close();
  },
};

if (import.meta.main) {
  for (const ending of Deno.args) {
    if (ending === "forget") await forget();
    console.error(ending);
    const all = makeEverything();
    waitForAll(all);
    // Work is in progress when the last words are said.
    postWork(all);
    await ENDINGS[ending]!(all);
  }
}
