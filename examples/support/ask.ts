/** A client of an echo server. */

import type { UdAddress, UdConn } from "@rdma/ibverbs/net";
import type { Wait } from "./signals.ts";

/**
 * Sends a text and waits until it comes back. A datagram or its answer can be lost, and nobody reports it: the text is sent
 * again each second. Answers to earlier texts may still arrive. They are ignored.
 */
export async function ask(
  socket: UdConn,
  server: UdAddress,
  text: string,
  { seconds, signal }: Wait,
): Promise<void> {
  const question = new TextEncoder().encode(text);
  for (let second = 0; second < seconds; second++) {
    await socket.send(question, server);
    if (await echoArrives(socket, text, AbortSignal.timeout(1000))) return;
    signal.throwIfAborted();
  }
  throw new Error(`Nobody answered within ${seconds} s`);
}

async function echoArrives(socket: UdConn, text: string, signal: AbortSignal): Promise<boolean> {
  try {
    while (true) {
      const [answer] = await socket.receive(undefined, { signal });
      if (new TextDecoder().decode(answer) === text) return true;
    }
  } catch (error) {
    if (error === signal.reason) return false;
    throw error;
  }
}
