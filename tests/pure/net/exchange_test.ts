import { assertEquals, assertRejects } from "@std/assert";
import { readLine, writeAddress } from "../../../net/rc/exchange.ts";
import type { RcAddress } from "../../../net/rc/rc_address.ts";

/** A connection on which nothing ends, closed or not: Deno 2.8.3 leaves what is pending on a closed one. */
const stuck = {
  read: () => new Promise(() => {}),
  write: () => new Promise(() => {}),
} as unknown as Deno.Conn;

Deno.test("readLine() and writeAddress() end when the signal aborts, whatever the connection does", async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const waits = [readLine(stuck, signal), writeAddress(stuck, {} as RcAddress, signal)];
  const reason = new Error("enough");
  controller.abort(reason);
  for (const wait of waits) assertEquals(await assertRejects(() => wait, Error), reason);
});
