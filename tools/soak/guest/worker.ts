/**
 * A Worker of the soak run. It opens the device, sends datagrams to itself and closes everything, by one of the ways that
 * its first message names.
 *
 * @module
 */

import {
  AccessFlags,
  AddressHandle,
  CompletionQueue,
  Context,
  MemoryRegion,
  ProtectionDomain,
  type QueuePair,
  WcOpcode,
} from "../../../mod.ts";
import { WORKER_MESSAGES as LIST } from "../plan.ts";
import { makeQp } from "./datagrams.ts";
import { isMessage, SIZE, WORDS, writeMessage } from "./ledger.ts";
import { PATIENCE_MS, PORT, QKEY } from "./run.ts";

/**
 * What a Worker does after its messages.
 *
 * - `ends`: closes everything and ends by itself
 * - `stays`: closes everything and waits until it is terminated
 * - `waits`: waits for completions until it is told to stop, closes everything, and waits until it is terminated
 * - `open`: sends until it is terminated, with everything open
 */
export type WorkerKind = "ends" | "stays" | "waits" | "open";

/** The global object of a Worker. Type checks take this file for a program of the main thread. */
const scope = self as unknown as {
  addEventListener(type: "message", listener: (event: MessageEvent) => void): void;
  postMessage(delivered: number): void;
  close(): void;
};

const GRH = 40;
const SLOT = 128;

interface Loop {
  readonly cq: CompletionQueue;
  readonly qp: QueuePair;
  readonly mr: MemoryRegion;
  readonly ah: AddressHandle;
}

function open(stack: DisposableStack): Loop {
  const context = stack.use(Context.open("rxe0"));
  const pd = new ProtectionDomain(context);
  const cq = new CompletionQueue(context, { cqe: 2 * LIST });
  const qp = makeQp({ pd }, cq);
  const mr = new MemoryRegion(pd, 2 * LIST * SLOT, AccessFlags.LOCAL_WRITE);
  const { gid: dgid, gidIndex } = context.gidTable(PORT)[0]!;
  const ah = new AddressHandle(pd, {
    portNum: PORT,
    grh: { dgid, sgidIndex: gidIndex, hopLimit: 64 },
  });
  return { cq, qp, mr, ah };
}

/** Sends a list to itself. The result is how many messages came as they were sent. */
async function exchange({ cq, qp, mr, ah }: Loop): Promise<number> {
  const bytes = mr.bytes();
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  for (let i = 0; i < LIST; i++) {
    const at = (LIST + i) * SLOT;
    qp.postRecv({ wrId: i, sge: mr.slice(i * SLOT, SLOT) });
    writeMessage(words, at / 4, i);
    qp.postSend({ sge: mr.slice(at, SIZE), ah, remoteQpn: qp.qpNum, remoteQkey: QKEY });
  }
  let delivered = 0;
  let left = 2 * LIST;
  for await (const wc of cq.completions({ signal: AbortSignal.timeout(PATIENCE_MS) })) {
    if (wc.check().opcode === WcOpcode.RECV) {
      const at = (Number(wc.wrId) * SLOT + GRH) / 4;
      if (wc.byteLen === GRH + WORDS * 4 && isMessage(words, at)) delivered++;
    }
    if (--left === 0) break;
  }
  return delivered;
}

function nextMessage(): Promise<unknown> {
  return new Promise((resolve) => scope.addEventListener("message", ({ data }) => resolve(data)));
}

/** Waits for a completion that does not come, until the main program says so. */
async function waitUntilTold({ cq }: Loop): Promise<void> {
  const controller = new AbortController();
  const over = cq.completions({ signal: controller.signal }).next().catch(() => {});
  await nextMessage();
  controller.abort();
  await over;
}

// Not awaited here: when a Worker is terminated while its module is being evaluated, Deno leaves descriptors behind.
void work();

async function work(): Promise<void> {
  const kind = await nextMessage() as WorkerKind;
  {
    using stack = new DisposableStack();
    const loop = open(stack);
    const delivered = await exchange(loop);
    if (kind === "waits" || kind === "open") scope.postMessage(delivered);
    if (kind === "waits") await waitUntilTold(loop);
    while (kind === "open") await exchange(loop);
    stack.dispose();
    scope.postMessage(delivered);
  }
  if (kind === "ends") scope.close();
}
