// Connections by address in one guest.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { VerbsError } from "../../../mod.ts";
import { connectRc, listenRc } from "../../../net/mod.ts";
import { HOSTS } from "../cm/cm_device.ts";
import { denoCommand } from "../programs.ts";
import { deviceTest, until } from "../setup.ts";
import { bytes, connectTimeout, text } from "./rc_pair.ts";

const PEER = new URL("./rc_peer.ts", import.meta.url).pathname;
const { AddrNotAvailable, ConnectionReset } = Deno.errors;
// Only the end of the connection tells that the peer has gone.
const options = { connectTimeout, keepAlive: 0 };

deviceTest("listenRc() and connectRc() connect by IPv4 and IPv6", async () => {
  await using listener = await listenRc({ ...options, port: 0, credits: 3, maxMessage: 4096 });
  const { port } = listener.addr;
  for (const hostname of Object.values(HOSTS)) {
    const [client, server] = await Promise.all([
      connectRc({ ...options, hostname, port }),
      listener.accept(),
    ]);
    assertEquals([client.peer.credits, server.peer.credits], [3, 32]);
    assertEquals([client.maxMessage, server.maxMessage], [4096, 4096]);
    assertEquals(client.peer.gid, hostname.includes(":") ? hostname : `::ffff:${hostname}`);
    assert(client.peer.rdAtomic > 0 && client.peer.mtu >= 1024);
    for (let i = 0; i < 8; i++) {
      const sent = client.send(bytes(`hello ${i}`));
      assertEquals(text(await server.receive()), `hello ${i}`);
      await sent;
    }
    using memory = await server.expose(16);
    await client.write(memory.remote, 8, bytes("written!"));
    assertEquals(text(await client.read(memory.remote, 8, 8)), "written!");
    assertEquals(await client.fetchAndAdd(memory.remote, 0, 5n), 0n);
    await server.send(bytes("the last"));
    await server.close();
    assertEquals([text(await client.receive()), await client.receive()], ["the last", null]);
    const words = "the peer has closed the connection";
    await assertRejects(() => client.send(bytes("late")), ConnectionReset, words);
    await client.close();
  }
  await using wide = await listenRc({ hostname: HOSTS.IPv4, port: 0 });
  assertEquals(wide.addr.hostname, HOSTS.IPv4);
  await assertRejects(() => listenRc({ port }), Deno.errors.AddrInUse, `uses port ${port} `);
  assertEquals([listener.stats.connected, listener.stats.failed], [2, 0]);
});

deviceTest(
  "An end of a connection by address notices that its peer was closed or killed",
  async () => {
    await using listener = await listenRc({ ...options, port: 0 });
    const { port } = listener.addr;
    const hostname = HOSTS.IPv4;
    await using client = await connectRc({ ...options, hostname, port });
    const server = await listener.accept();
    await server.send(bytes("kept"));
    const waiting = client.send(new Uint8Array(8));
    await waiting;
    server[Symbol.dispose]();
    assertEquals(text(await client.receive()), "kept");
    await assertRejects(() => client.receive(), ConnectionReset);
    const [command, ...args] = denoCommand(PEER, ["by address", String(port), "send"]);
    const child = new Deno.Command(command, { args, stdin: "null", stdout: "null" }).spawn();
    await using killed = await listener.accept({ signal: AbortSignal.timeout(2 * connectTimeout) });
    let count = 0;
    const used = assertRejects(async () => {
      for await (const _ of killed.readable) count++;
    }, ConnectionReset);
    await until("100 messages", () => count >= 100);
    child.kill("SIGKILL");
    await child.status;
    await used;
  },
);

deviceTest(
  "listenRc() by address refuses loopback addresses, where all networks would reach it",
  async () => {
    for (const hostname of ["127.0.0.1", "127.9.9.9", "::1", "localhost"]) {
      const words = "a listener there takes peers of all networks";
      await assertRejects(() => listenRc({ hostname, port: 0 }), AddrNotAvailable, words);
    }
    const mapped = { hostname: "::ffff:127.0.0.1", port: 0 };
    await assertRejects(() => listenRc(mapped), VerbsError, "is a loopback address");
    for (const hostname of ["0.0.0.0", "::"]) {
      await using listener = await listenRc({ hostname, port: 0 });
      assertEquals(listener.addr.hostname, hostname);
    }
  },
);
