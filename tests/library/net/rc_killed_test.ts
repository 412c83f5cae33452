// Peers are processes that are killed: their device stops to answer. rc_by_address_test.ts of the device tests has one on rxe.
import { assertEquals, assertRejects } from "@std/assert";
import { listenRc, type RcConn } from "../../../net/mod.ts";
import { denoCommand, RXE, test, until } from "../shm_device.ts";

const PEER = new URL("../../device/net/rc_peer.ts", import.meta.url).pathname;
const connectTimeout = 30_000;

/** Uses a connection until the peer is killed. `moved` is called for each message. */
type Use = (conn: RcConn, moved: () => void) => Promise<unknown>;

const USES: Record<string, Use> = {
  send: async (conn, moved) => {
    for await (const _ of conn.readable) moved();
  },
  receive: async (conn, moved) => {
    const writer = conn.writable.getWriter();
    while (true) {
      await writer.write(new Uint8Array(10_000));
      moved();
    }
  },
  // Nothing is sent and nothing comes: only the check of the connection notices it.
  nothing: (conn, moved) => {
    for (let i = 0; i < 100; i++) moved();
    return conn.receive();
  },
};

/** Starts the peer, and returns the connection to it. */
async function accept(action: string, peers: AsyncDisposableStack): Promise<[RcConn, () => void]> {
  await using listener = await listenRc({
    device: RXE,
    connectTimeout: 60_000,
    ackTimeout: 14, // 67 ms, 7 times: a guest on a busy host stands still for 100 ms
    keepAlive: 200,
  });
  const [command, ...args] = denoCommand(PEER, [RXE, String(listener.addr.port), action]);
  const child = new Deno.Command(command, {
    args,
    stdin: "null",
    stdout: "null",
    stderr: "inherit",
  }).spawn();
  const kill = (): void => {
    try {
      child.kill("SIGKILL");
    } catch {
      // It is gone.
    }
  };
  peers.defer(async () => {
    kill();
    await child.status;
  });
  return [await listener.accept({ signal: AbortSignal.timeout(2 * connectTimeout) }), kill];
}

for (const [action, use] of Object.entries(USES)) {
  test(`RcConn is broken when a peer is killed that does "${action}"`, async () => {
    await using peers = new AsyncDisposableStack();
    const [conn, kill] = await accept(action, peers);
    await using _closing = conn;
    let moves = 0;
    let isBroken = false;
    const used = assertRejects(() => use(conn, () => moves++), Deno.errors.ConnectionReset)
      .finally(() => isBroken = true);
    await until("100 messages", () => moves >= 100);
    kill();
    await until("the connection is broken", () => isBroken);
    await used;
    await assertRejects(() => conn.send(new Uint8Array(1)), Deno.errors.ConnectionReset);
    await assertRejects(() => conn.flush(), Deno.errors.ConnectionReset);
    assertEquals(conn.peer.transport, "RC");
    const { reason, error } = await conn.closed;
    assertEquals([reason, error instanceof Deno.errors.ConnectionReset], ["broken", true]);
  });
}
