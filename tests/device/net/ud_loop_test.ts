// Both ends in one process, and a loop that sends without a wait of its own.

import { assertEquals, assertGreater } from "@std/assert";
import { listenUd } from "../../../net/mod.ts";
import { deviceTest, QKEY, RXE, until } from "../setup.ts";

deviceTest(
  "A loop over UdConn.send() lets timers and a receiver of the same process run, which counts what it drops",
  async () => {
    await using server = await listenUd({ device: RXE, qkey: QKEY });
    await using client = await listenUd({ device: RXE, qkey: QKEY });
    const count = 2000;
    let received = 0;
    const serving = (async () => {
      for await (const _ of server) received++;
    })();
    let hasFired = false;
    setTimeout(() => hasFired = true, 1);
    const message = new Uint8Array(4);
    const { addr } = server;
    for (let i = 0; i < count; i++) await client.send(message, addr);
    assertEquals(hasFired, true, "no timer has fired during the loop");
    assertGreater(received, 0, "datagrams that were received during the loop");
    // Who takes datagrams more slowly than they are sent loses those for which there is no room.
    await until("the last datagram", () => received + server.stats.dropped === count);
    assertEquals(server.stats.received, count);
    server.close();
    await serving;
  },
);
