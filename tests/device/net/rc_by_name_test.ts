// Connections by name in one guest.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { CmError, CmId } from "../../../cm.ts";
import { QpType, VerbsError } from "../../../mod.ts";
import { connectRc, listenRc } from "../../../net/mod.ts";
import { CmBed, HOSTS } from "../cm/bed.ts";
import { denoCommand } from "../programs.ts";
import { deviceTest, until } from "../setup.ts";
import { bytes, connectTimeout, text } from "./rc_pair.ts";

const PEER = new URL("./rc_peer.ts", import.meta.url).pathname;
const { AddrNotAvailable, ConnectionRefused, ConnectionReset, TimedOut } = Deno.errors;
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
    assertEquals(await client.fetchAdd(memory.remote, 0, 5n), 0n);
    await server.send(bytes("the last"));
    await server.close();
    assertEquals([text(await client.receive()), await client.receive()], ["the last", null]);
    const words = "the peer has closed the connection";
    await assertRejects(() => client.send(bytes("late")), ConnectionReset, words);
    await client.close();
  }
  await using wide = await listenRc({ hostname: HOSTS.IPv4, port: 0 });
  assertEquals(wide.addr.hostname, HOSTS.IPv4);
  await assertRejects(() => listenRc({ port }), VerbsError, "uses the port");
  assertEquals([listener.stats.connected, listener.stats.failed], [2, 0]);
});

deviceTest(
  "An end of a connection by name notices that its peer was closed or killed",
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
    const [command, ...args] = denoCommand(PEER, ["by name", String(port), "send"]);
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
  "listenRc() by name refuses loopback addresses, where all networks would reach it",
  async () => {
    for (const hostname of ["127.0.0.1", "127.9.9.9", "::1", "localhost"]) {
      const words = "a listener there takes peers of all networks";
      await assertRejects(() => listenRc({ hostname, port: 0 }), AddrNotAvailable, words);
    }
    const mapped = { hostname: "::ffff:127.0.0.1", port: 0 };
    await assertRejects(() => listenRc(mapped), VerbsError, "No RDMA device has");
    for (const hostname of ["0.0.0.0", "::"]) {
      await using listener = await listenRc({ hostname, port: 0 });
      assertEquals(listener.addr.hostname, hostname);
    }
  },
);

const STEPS = ["resolveAddr", "resolveRoute", "initQpAttr", "connect"] as const;

/** Connects, and gives up just before or after a step begins. */
async function abortAt(
  step: typeof STEPS[number],
  isBefore: boolean,
  to: { readonly hostname: string; readonly port: number },
): Promise<void> {
  const steps = CmId.prototype as unknown as Record<string, (...args: unknown[]) => unknown>;
  const original = steps[step];
  const abort = new AbortController();
  steps[step] = function (this: CmId, ...args: unknown[]): unknown {
    if (isBefore) abort.abort(new Error("enough"));
    const result = original!.apply(this, args);
    abort.abort(new Error("enough"));
    return result;
  };
  try {
    await connectRc({ ...options, ...to, signal: abort.signal });
  } finally {
    steps[step] = original!;
  }
}

deviceTest(
  "connectRc() by name tells why it cannot connect, and leaves nothing behind",
  async () => {
    using bed = new CmBed();
    const hostname = HOSTS.IPv4;
    const nobody = { ...options, hostname, port: 17_998 };
    await assertRejects(() => connectRc(nobody), ConnectionRefused, "nobody listens on this port");
    const unknown = { ...options, hostname: "no such name", port: 5 };
    await assertRejects(() => connectRc(unknown), CmError, 'look up "no such name"');
    await assertRejects(() => connectRc({ ...unknown, hostname: "" }), CmError, 'look up ""');
    await assertRejects(
      () => connectRc({ ...options, hostname: "127.0.0.1", port: 5 }),
      VerbsError,
      "No RDMA device has such an address",
    );
    // One that rejects, and one that is none of this protocol.
    const listener = bed.listener();
    const to = { ...options, hostname, port: listener.srcPort };
    const rejected = assertRejects(() => connectRc(to), ConnectionRefused, "does not want it");
    (await bed.request()).id.reject();
    await rejected;
    const foreign = assertRejects(
      () => connectRc(to),
      Deno.errors.InvalidData,
      "address of the peer",
    );
    await (await bed.request()).id.accept(bed.newQp(QpType.RC)).catch(() => {});
    await foreign;
    // Nobody answers.
    const late = { ...to, connectTimeout: 3000 };
    await assertRejects(() => connectRc(late), TimedOut, "the host does not answer");
    for (const step of STEPS) {
      for (const isBefore of [true, false]) {
        await assertRejects(() => abortAt(step, isBefore, to), Error, "enough", step);
      }
    }
  },
);

deviceTest(
  "listenRc() by name rejects those who do not speak its protocol or are too many",
  async () => {
    using bed = new CmBed();
    await using listener = await listenRc({ ...options, port: 0, maxPending: 1 });
    const { port } = listener.addr;
    const hostname = HOSTS.IPv4;
    const id = await bed.routed({ hostname, port });
    const privateData = bytes('{"credits":0,"maxMessage":64}');
    await assertRejects(() => id.connect(bed.newQp(QpType.RC), { privateData }), CmError, "28");
    assertEquals([listener.stats.failed, listener.stats.connected], [1, 0]);
    await using first = await connectRc({ ...options, hostname, port });
    await assertRejects(() => connectRc({ ...options, hostname, port }), ConnectionRefused);
    assertEquals([listener.stats.refused, listener.stats.connected], [1, 1]);
    const accepted = await listener.accept();
    await listener[Symbol.asyncDispose]();
    // The connection outlives the listener.
    await first.send(bytes("still here"));
    assertEquals(text(await accepted.receive()), "still here");
    await accepted.close();
    const early = { ...options, hostname, port: 17_997, retryInterval: 20 };
    const waiting = connectRc(early);
    await using late = await listenRc({ ...options, port: early.port });
    await using _client = await waiting;
    await using _server = await late.accept();
    const abort = AbortSignal.abort(new Error("before"));
    await assertRejects(() => connectRc({ hostname, port, signal: abort }), Error, "before");
    await assertRejects(() => listenRc({ port: 0, signal: abort }), Error, "before");
  },
);
