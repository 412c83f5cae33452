/**
 * A Worker of the soak run. It sends datagrams to itself and closes everything, by one of the ways that its first message
 * names.
 *
 * @module
 */

import { listenUd, type UdConn } from "../../../net/mod.ts";
import { WORKER_MESSAGES } from "../plan.ts";
import { isMessage, WORDS, writeMessage } from "./ledger.ts";
import { PATIENCE_MS, QKEY } from "./run.ts";

/**
 * What a Worker does after its messages.
 *
 * - `ends`: closes everything and ends by itself
 * - `stays`: closes everything and waits until it is terminated
 * - `waits`: waits for a message until it is told to stop, closes everything, and waits until it is terminated
 * - `open`: sends until it is terminated, with everything open
 */
export type WorkerKind = "ends" | "stays" | "waits" | "open";

/** The global object of a Worker. Type checks take this file for a program of the main thread. */
const scope = self as unknown as {
  addEventListener(type: "message", listener: (event: MessageEvent) => void): void;
  postMessage(delivered: number): void;
  close(): void;
};

/** Sends messages to itself. The result is how many came as they were sent. */
async function exchange(conn: UdConn): Promise<number> {
  let delivered = 0;
  for (let i = 0; i < WORKER_MESSAGES; i++) {
    const words = new Uint32Array(WORDS);
    writeMessage(words, 0, i);
    await conn.send(new Uint8Array(words.buffer), conn.addr);
    const [bytes] = await conn.receive(undefined, { signal: AbortSignal.timeout(PATIENCE_MS) });
    const received = new Uint32Array(bytes.slice().buffer);
    if (received[0] === i && received.length === WORDS && isMessage(received, 0)) delivered++;
  }
  return delivered;
}

function nextMessage(): Promise<unknown> {
  return new Promise((resolve) => scope.addEventListener("message", ({ data }) => resolve(data)));
}

/** Waits for a message that does not come, until the main program says so. */
async function waitUntilTold(conn: UdConn): Promise<void> {
  const controller = new AbortController();
  const over = conn.receive(undefined, { signal: controller.signal }).catch(() => {});
  await nextMessage();
  controller.abort();
  await over;
}

// Not awaited here: when a Worker is terminated while its module is being evaluated, Deno leaves descriptors behind.
void work();

async function work(): Promise<void> {
  const kind = await nextMessage() as WorkerKind;
  const conn = await listenUd({ qkey: QKEY, device: "rxe0", gidIndex: 0 });
  const delivered = await exchange(conn);
  if (kind === "waits" || kind === "open") scope.postMessage(delivered);
  if (kind === "waits") await waitUntilTold(conn);
  while (kind === "open") await exchange(conn);
  conn.close();
  scope.postMessage(delivered);
  if (kind === "ends") scope.close();
}
