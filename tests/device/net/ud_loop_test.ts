// Both ends in one process, and a loop that sends without a wait of its own.

import { assertEquals } from "@std/assert";
import { listenUd, type UdConn } from "../../../net/mod.ts";
import { deviceTest, QKEY, RXE, until } from "../setup.ts";

const MESSAGES = 2000;
const MANY = 16;

type Sending = (client: UdConn, addr: UdConn["addr"], message: Uint8Array) => Promise<number>;

/** The calls that a program loops over, each of which returns how many messages it has sent. */
const LOOPS: Readonly<Record<string, Sending>> = {
  send: async (client, addr, message) => {
    await client.send(message, addr);
    return 1;
  },
  sendMany: (client, addr, message) => client.sendMany(Array(MANY).fill([message, addr])),
};

for (const [name, send] of Object.entries(LOOPS)) {
  deviceTest(
    `A loop over UdConn.${name}() lets timers run, and a receiver of the same process takes all`,
    async () => {
      await using server = await listenUd({ device: RXE, qkey: QKEY });
      await using client = await listenUd({ device: RXE, qkey: QKEY });
      let received = 0;
      const serving = (async () => {
        for await (const _ of server) received++;
      })();
      let hasFired = false;
      setTimeout(() => hasFired = true, 1);
      const message = new Uint8Array(4);
      const { addr } = server;
      let sent = 0;
      while (sent < MESSAGES) sent += await send(client, addr, message);
      assertEquals(hasFired, true, "no timer has fired during the loop");
      await until("the last datagram", () => received + server.stats.dropped === sent);
      assertEquals([received, server.stats.dropped], [sent, 0]);
      server.close();
      await serving;
    },
  );
}
