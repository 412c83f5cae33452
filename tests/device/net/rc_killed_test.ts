import { assertEquals, assertRejects } from "@std/assert";
import { listenRc } from "../../../net/mod.ts";
import { deviceTest, RXE } from "../setup.ts";

/** Connects, and then does what its second argument says until it is killed. */
const PEER = new URL("rc_peer.ts", import.meta.url).pathname;

function startPeer(tcpPort: number, action: string): Deno.ChildProcess {
  const args = ["run", "-A", "--no-check", PEER, RXE, String(tcpPort), action];
  return new Deno.Command(Deno.execPath(), { args, stdout: "inherit", stderr: "inherit" }).spawn();
}

for (const action of ["send", "receive", "idle"]) {
  deviceTest(`RcConn rejects with a typed error when the peer is killed: ${action}`, async () => {
    await using listener = await listenRc({
      device: RXE,
      timeout: 12,
      keepAlive: 100,
      connectTimeout: 60_000,
    });
    const peer = startPeer(listener.addr.port, action);
    await using conn = await listener.accept({ signal: AbortSignal.timeout(60_000) });
    let seen = 0;
    const work = async (): Promise<void> => {
      while (true) {
        if (action === "receive") await conn.send(new Uint8Array(10_000));
        else await conn.receive();
        if (++seen === 50) peer.kill("SIGKILL");
      }
    };
    if (action === "idle") peer.kill("SIGKILL");
    const error = await assertRejects(
      work,
      Deno.errors.ConnectionReset,
      "The connection is broken",
    );
    assertEquals((error.cause as Error).name, "WorkCompletionError");
    assertEquals((await peer.status).signal, "SIGKILL");
    await assertRejects(() => conn.flush(), Deno.errors.ConnectionReset);
  });
}
