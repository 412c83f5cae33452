// An end that is closed after its peer is gone: the peer's device does not answer, for longer than the test lasts.
import { assertEquals } from "@std/assert";
import { connectRc, listenRc } from "../../../net/mod.ts";
import { RXE, test } from "../shm_device.ts";
import { withDeadline } from "../../until.ts";

test("RcConn.close() does not wait for a peer that has left", async () => {
  // 69 s, seven times.
  const options = { device: RXE, ackTimeout: 24 };
  await using listener = await listenRc(options);
  const outcomes = new Set<string>();
  for (let i = 0; i < 10; i++) {
    const connecting = connectRc({ ...options, tcpPort: listener.addr.port });
    const [client, server] = await Promise.all([connecting, listener.accept()]);
    await client.close();
    // Nobody acknowledges it. Once this end has read that the peer has left, it is refused.
    const [{ status }] = await Promise.allSettled([server.send(Uint8Array.of(i))]);
    outcomes.add(status);
    await withDeadline(new Error("Cannot close: it waits for the peer"), async (signal) => {
      await server.close({ signal });
      signal.throwIfAborted();
    });
  }
  assertEquals(outcomes.has("fulfilled"), true, "no message was sent in vain");
});
