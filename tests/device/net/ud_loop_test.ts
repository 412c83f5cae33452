// Both ends in one process, and a loop that sends without a wait of its own.

import { assertEquals } from "@std/assert";
import { listenUd } from "../../../net/mod.ts";
import { deviceTest, QKEY, RXE, until } from "../setup.ts";

deviceTest(
  "A loop over UdConn.send() loses nothing to a receiver of the same process",
  async () => {
    await using server = await listenUd({ device: RXE, qkey: QKEY });
    await using client = await listenUd({ device: RXE, qkey: QKEY });
    const count = 2000;
    let received = 0;
    const serving = (async () => {
      for await (const [message] of server) {
        assertEquals(new DataView(message.buffer).getUint32(0), received);
        if (++received === count) return;
      }
    })();
    let hasFired = false;
    setTimeout(() => hasFired = true, 1);
    for (let i = 0; i < count; i++) {
      const message = new DataView(new ArrayBuffer(4));
      message.setUint32(0, i);
      await client.send(new Uint8Array(message.buffer), server.addr);
    }
    assertEquals(hasFired, true, "no timer has fired during the loop");
    await until("the last datagram", () => received === count);
    await serving;
    assertEquals(server.stats.dropped, 0);
  },
);
