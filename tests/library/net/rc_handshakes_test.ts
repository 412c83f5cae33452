// How two ends find each other, and what each says when the other one does not do its part.
import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { stub } from "@std/testing/mock";
import { connectRc, listenRc, type RcAddress, type RcListener } from "../../../net/mod.ts";
import { bytes, connectTimeout, peerAddress, RXE, test, text, until } from "./recorder_net.ts";

const { InvalidData, TimedOut, BadResource, ConnectionReset } = Deno.errors;
const ADDRESS = peerAddress();
const OWN = { device: RXE, connectTimeout };
const never = (): Promise<never> => new Promise(() => {});

async function dial(listener: RcListener): Promise<Deno.TcpConn> {
  return await Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port });
}

/** Waits until one more attempt has failed, and returns why. */
async function failureOf(listener: RcListener, attempt: () => Promise<unknown>): Promise<Error> {
  const { failed } = listener.stats;
  await attempt();
  await until("the failure", () => listener.stats.failed > failed);
  const { lastError } = listener.stats;
  assertInstanceOf(lastError, Error);
  return lastError;
}

/** Connects to a port, and asserts that a message arrives. */
async function assertConnects(listener: RcListener, tcpPort = listener.addr.port): Promise<void> {
  const signal = AbortSignal.timeout(connectTimeout);
  const accepted = listener.accept({ signal });
  await using client = await connectRc({ ...OWN, tcpPort });
  await using server = await accepted;
  await client.send(bytes("works"));
  assertEquals(text(await server.receive()), "works");
}

/** A peer that takes one TCP connection. */
function serveOnce(serve: (tcp: Deno.TcpConn) => unknown): AsyncDisposable & { tcpPort: number } {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const served = (async () => {
    using tcp = await listener.accept();
    await serve(tcp);
  })();
  const end = async (): Promise<void> => {
    await served;
    listener.close();
  };
  return { tcpPort: listener.addr.port, [Symbol.asyncDispose]: end };
}

const ask = (tcp: Deno.TcpConn): Promise<unknown> => tcp.read(new Uint8Array(4096));

/** What peers send in place of an address. */
const BAD = ["x".repeat(100_000), `${JSON.stringify({ ...ADDRESS, credits: 0 })}\n`];

test("Both ends refuse what is no address, and RcListener connects to others afterwards", async () => {
  await using listener = await listenRc(OWN);
  for (const line of BAD) {
    const refused = await failureOf(listener, async () => {
      using tcp = await dial(listener);
      // The listener may have closed the connection already.
      await tcp.write(bytes(line)).catch(() => {});
    });
    assertInstanceOf(refused, InvalidData);
    await using peer = serveOnce(async (tcp) => {
      await ask(tcp);
      await tcp.write(bytes(line)).catch(() => {});
    });
    await assertRejects(() => connectRc({ ...OWN, tcpPort: peer.tcpPort }), InvalidData);
  }
  await assertConnects(listener);
});

test("RcListener takes an address that comes in parts", async () => {
  await using listener = await listenRc(OWN);
  await using proxy = serveOnce(async (from) => {
    using to = await dial(listener);
    to.setNoDelay();
    const buffer = new Uint8Array(4096);
    const count = (await from.read(buffer))!;
    for (let i = 0; i < count; i++) {
      await to.write(buffer.subarray(i, i + 1));
      if (i % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await to.readable.pipeTo(from.writable, { preventClose: true }).catch(() => {});
  });
  await assertConnects(listener, proxy.tcpPort);
});

test("RcListener ends waits, attempts and the iteration when it is closed or its signal aborts", async () => {
  const abort = new AbortController();
  const { signal } = abort;
  const endings: Record<string, (listener: RcListener) => void> = {
    "close()": (listener) => listener.close(),
    "its signal": () => abort.abort(new Error("enough")),
  };
  for (const [how, end] of Object.entries(endings)) {
    const listener = await listenRc({ ...OWN, signal });
    using silent = await dial(listener);
    const iterated = Array.fromAsync(listener);
    const waiting = assertRejects(() => listener.accept(), BadResource);
    const enough = AbortSignal.abort(new Error("enough"));
    await assertRejects(() => listener.accept({ signal: enough }), Error, "enough");
    end(listener);
    listener.close();
    await waiting;
    assertEquals([how, await iterated], [how, []]);
    await listener[Symbol.asyncDispose]();
    assertEquals(await silent.read(new Uint8Array(1)).catch(() => null), null);
    await assertRejects(() => listener.accept(), BadResource);
  }
  await assertRejects(() => listenRc({ ...OWN, signal }), Error, "enough");
});

test("A peer that closes TCP and sends no address is named as the cause, at both ends", async () => {
  const closed = "the peer has closed the TCP connection and sent no address";
  // What was not read makes the kernel reset the connection.
  for (const serve of [ask, () => {}]) {
    await using peer = serveOnce(serve);
    const refused = connectRc({ ...OWN, tcpPort: peer.tcpPort });
    await assertRejects(() => refused, ConnectionReset, closed);
  }
  await using listener = await listenRc({ ...OWN, onFailure: () => {} });
  const { message } = await failureOf(listener, async () => (await dial(listener)).close());
  assert(message.includes(closed), message);
});

test("A time-out names the step that it waited for, at both ends", async () => {
  // Long enough to make an end, and for a line that has been sent to be there.
  const own = { device: RXE, connectTimeout: 500 };
  const silent = "500 ms: the peer has not sent its address";
  const given = "500 ms: exchange() has not given the address of the peer";
  await using peer = serveOnce(async (tcp) => {
    while (await ask(tcp) !== null);
  });
  await assertRejects(() => connectRc({ ...own, tcpPort: peer.tcpPort }), TimedOut, silent);
  await assertRejects(() => connectRc({ ...own, exchange: never }), TimedOut, given);
  {
    using _connect = stub(Deno, "connect", never as never);
    const step = 'TCP port 5 of "127.0.0.1" does not answer';
    await assertRejects(() => connectRc({ ...own, tcpPort: 5 }), TimedOut, step);
  }
  await using listener = await listenRc({ ...own, peerGid: "any", onFailure: () => {} });
  const unsaid = "the peer has answered, and then sent no first message";
  for (const [line, step] of [["", silent], [`${JSON.stringify(ADDRESS)}\n`, unsaid]] as const) {
    using tcp = await dial(listener);
    const { message } = await failureOf(listener, () => tcp.write(bytes(line)));
    assert(message.includes(step), message);
  }
});

test("connectRc() ends when its signal aborts, and closes a TCP connection that comes too late", async () => {
  const connecting = Promise.withResolvers<Deno.TcpConn>();
  using _connect = stub(Deno, "connect", () => connecting.promise as never);
  const signal = AbortSignal.timeout(5);
  await assertRejects(() => connectRc({ device: RXE, tcpPort: 5, signal }), DOMException);
  const closed = Promise.withResolvers<void>();
  connecting.resolve({ close: closed.resolve } as never);
  await closed.promise;
});

test("connectRc() rejects if the channel or the queue pair of the peer fails", async () => {
  const gone = (mine: RcAddress): Promise<RcAddress> =>
    Promise.resolve({ ...mine, qpNum: 0xff_fff0 });
  const lost = connectRc({ ...OWN, exchange: gone, ackTimeout: 10 });
  await assertRejects(() => lost, ConnectionReset, "RETRY_EXC_ERR");
  const broken = { ...OWN, exchange: () => Promise.reject(new Error("the channel broke")) };
  await assertRejects(() => connectRc(broken), Error, "channel broke");
  for (const value of [undefined, { transport: "RC", gid: "x".repeat(1_000_000) }]) {
    const given = connectRc({ ...OWN, exchange: () => Promise.resolve(value) });
    await assertRejects(() => given, InvalidData);
  }
});

test("connectRc() rejects when there is no such device, port or GID", async () => {
  const own = { device: RXE, exchange: never };
  await assertRejects(() => connectRc({ ...own, device: "nosuch0" }), Deno.errors.NotFound);
  await assertRejects(() => connectRc({ ...own, portNum: 9 }), RangeError);
  const noGid = connectRc({ ...own, gidIndex: 200 });
  await assertRejects(() => noGid, Deno.errors.NotFound, "GID index 200");
});

test("listenRc() listens where it is told, by default for this host alone", async () => {
  await using first = await listenRc({ device: RXE });
  assertEquals(first.addr.hostname, "127.0.0.1");
  const { port } = first.addr;
  await using second = await listenRc({ device: RXE, hostname: "127.0.0.2", tcpPort: port });
  assertEquals([second.addr.hostname, second.addr.port], ["127.0.0.2", port]);
});
