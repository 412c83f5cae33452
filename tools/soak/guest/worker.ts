/**
 * A Worker of the soak run. It opens the device, sends datagrams to itself and closes everything, by one of the ways that
 * its first message names.
 */

import { bed } from "../../../tests/device/bed.ts";
import type { Pair } from "../../../tests/device/setup.ts";
import { WORKER_MESSAGES as LIST } from "../plan.ts";
import { isMessage, SIZE, WORDS, wordsOf, writeMessage } from "./ledger.ts";

/**
 * What a Worker does after its messages.
 *
 * - `ends`: closes everything and ends by itself
 * - `stays`: closes everything and waits until it is terminated
 * - `waits`: waits for completions until it is told to stop, closes everything, and waits until it is terminated
 */
export type WorkerKind = "ends" | "stays" | "waits";

/** The global object of a Worker. Type checks take this file for a program of the main thread. */
const scope = self as unknown as {
  addEventListener(type: "message", listener: (event: MessageEvent) => void): void;
  postMessage(delivered: number): void;
  close(): void;
};

const GRH = 40;
const SLOT = 128;

// Without a name, the helpers of tests count the kernel's objects and keep files open for that.
bed.device = "rxe0";
const setup = import("../../../tests/device/setup.ts");

/** Sends a list. The result is how many messages came as they were sent. */
async function exchange({ left, right, toRight }: Pair): Promise<number> {
  const { waitFor } = await setup;
  const [from, to] = [wordsOf(left.mr), wordsOf(right.mr)];
  for (let i = 0; i < LIST; i++) {
    right.qp.postRecv({ wrId: i, sge: right.mr.slice(i * SLOT, SLOT) });
    writeMessage(from, i * WORDS, i);
    left.qp.postSend({ sge: left.mr.slice(i * SIZE, SIZE), ...toRight });
  }
  const [received] = await Promise.all([waitFor(right.cq, LIST), waitFor(left.cq, LIST)]);
  return received.filter((wc) => {
    const at = (Number(wc.check().wrId) * SLOT + GRH) / 4;
    return wc.byteLen === GRH + SIZE && isMessage(to, at);
  }).length;
}

function nextMessage(): Promise<unknown> {
  return new Promise((resolve) => scope.addEventListener("message", ({ data }) => resolve(data)));
}

/** Waits for a completion that does not come, until the main program says so. */
async function waitUntilTold({ left }: Pair): Promise<void> {
  const controller = new AbortController();
  const over = left.cq.completions({ signal: controller.signal }).next().catch(() => {});
  await nextMessage();
  controller.abort();
  await over;
}

// Not awaited here: when a Worker is terminated while its module is being evaluated, Deno leaves descriptors behind.
void work();

async function work(): Promise<void> {
  const kind = await nextMessage() as WorkerKind;
  const pair = (await setup).udPair();
  const delivered = await exchange(pair);
  if (kind === "waits") {
    scope.postMessage(delivered);
    await waitUntilTold(pair);
  }
  pair[Symbol.dispose]();
  scope.postMessage(delivered);
  if (kind === "ends") scope.close();
}
