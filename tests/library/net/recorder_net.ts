// What tests of the net module have on the recorder, which moves the data in place of a device.
import { assertEquals } from "@std/assert";
import { nextTurn } from "../../../wait/turns.ts";
import { LinkLayer } from "../../../mod.ts";
import type { RcOptions } from "../../../net/mod.ts";
import { standIn } from "../../device/stand_in_device.ts";
import type { RcPair } from "../../device/net/rc_pair.ts";
import * as recorder from "../../provider/recorder.ts";

standIn.device = "recorder0";
standIn.test = (name, body) =>
  Deno.test(name, async () => {
    recorder.reset();
    recorder.answer("ibv_query_port", { link_layer: LinkLayer.ETHERNET });
    recorder.connect();
    await body();
    // Loops of the library that have just ended may have asked for a turn, which may be a timer.
    await nextTurn();
    // A call on another thread, such as one that makes an address handle, may end later, and frees what it has made.
    await until("everything is freed", () => recorder.live() === 0);
    assertEquals(recorder.violations(), []);
  });

// Not before: they look for the device when they are imported.
export const { deviceTest: test, gidOf, openRxe, PORT, QKEY, RXE, until } = await import(
  "../../device/setup.ts"
);
export const { bytes, connectTimeout, peerAddress, rcPair, text } = await import(
  "../../device/net/rc_pair.ts"
);

/** Defines tests of the two ends of a connection. */
export function pairs(
  ...options: [client?: RcOptions, server?: RcOptions]
): { test(title: string, body: (pair: RcPair) => Promise<void>): void } {
  return {
    test: (title, body) =>
      test(title, async () => {
        await using pair = await rcPair(...options);
        await body(pair);
      }),
  };
}

/** Tests of two ends with the options that a program has by default. */
export const pair = pairs();

/** Sends messages to the server at once, which promises to take as many, as far as it has credits for them. */
export async function warmUp(
  { client, server }: Pick<RcPair, "client" | "server">,
  count: number,
): Promise<void> {
  const words = Array.from({ length: count }, (_, i) => `${i}`);
  const sending = Promise.all(words.map((word) => client.send(bytes(word))));
  await pause(5);
  for (const word of words) assertEquals(text(await server.receive()), word);
  await sending;
}

/** What has been begun may go on meanwhile. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
