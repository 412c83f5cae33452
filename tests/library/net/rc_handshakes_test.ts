import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { stub } from "@std/testing/mock";
import {
  connectRc,
  listenRc,
  type RcAddress,
  type RcConn,
  type RcListener,
} from "../../../net/mod.ts";
import { bytes, connectTimeout, netTest, peerAddress, RXE, text, until } from "./bed.ts";

const { InvalidData, TimedOut, BadResource, ConnectionReset } = Deno.errors;

async function dial(listener: RcListener): Promise<Deno.TcpConn> {
  return await Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port });
}

async function connectTo(listener: RcListener, tcpPort: number): Promise<[RcConn, RcConn]> {
  const signal = AbortSignal.timeout(connectTimeout);
  return await Promise.all([
    connectRc({ device: RXE, tcpPort, connectTimeout }),
    listener.accept({ signal }),
  ]);
}

const ADDRESS = peerAddress();

const BAD: Record<string, Uint8Array | string> = {
  "no line": JSON.stringify(ADDRESS),
  "an endless line": "x".repeat(100_000),
  "no JSON": "hello\n",
  "two lines": `${JSON.stringify(ADDRESS)}\n{}\n`,
  "a number out of range": `${JSON.stringify({ ...ADDRESS, credits: 0 })}\n`,
};

netTest("RcListener survives peers that send something else than an address", async () => {
  await using listener = await listenRc({ device: RXE, connectTimeout });
  let failed = 0;
  for (const [what, data] of Object.entries(BAD)) {
    using tcp = await dial(listener);
    const message = typeof data === "string" ? bytes(data) : data;
    try {
      if (message.length > 0) await tcp.write(message);
      await tcp.closeWrite();
    } catch {
      // The listener may have closed the connection already.
    }
    failed++;
    await until(what, () => listener.stats.failed === failed);
    assertEquals(listener.stats.lastError instanceof InvalidData, true, what);
  }
  const [client, server] = await connectTo(listener, listener.addr.port);
  await using _client = client;
  await using _server = server;
  await client.send(bytes("still works"));
  assertEquals(text(await server.receive()), "still works");
});

netTest(
  "RcListener accepts others while a peer is silent, and gives the peer up",
  async () => {
    await using listener = await listenRc({ device: RXE, connectTimeout: 3000 });
    using silent = await dial(listener);
    const accepted = listener.accept();
    await using client = await connectRc({ device: RXE, tcpPort: listener.addr.port });
    await using _server = await accepted;
    assertEquals(listener.stats.failed, 0);
    await client.send(bytes("x"));
    assertEquals(await silent.read(new Uint8Array(1)), null);
    assertEquals(listener.stats.lastError instanceof TimedOut, true);
  },
);

netTest("RcListener takes an address that comes in parts", async () => {
  await using listener = await listenRc({ device: RXE, connectTimeout });
  using proxy = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const forwarding = (async () => {
    using from = await proxy.accept();
    using to = await dial(listener);
    to.setNoDelay();
    const buffer = new Uint8Array(4096);
    const count = (await from.read(buffer))!;
    for (let i = 0; i < count; i++) {
      await to.write(buffer.subarray(i, i + 1));
      if (i % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await to.readable.pipeTo(from.writable);
  })();
  const [client, server] = await connectTo(listener, proxy.addr.port);
  await using _client = client;
  await using _server = server;
  await client.send(bytes("in parts"));
  assertEquals(text(await server.receive()), "in parts");
  await forwarding.catch(() => {});
});

netTest("RcListener.close() ends waits and attempts, and the iteration", async () => {
  const listener = await listenRc({ device: RXE, connectTimeout });
  using silent = await dial(listener);
  const iterated = Array.fromAsync(listener);
  const waiting = assertRejects(() => listener.accept(), BadResource);
  const aborted = assertRejects(
    () => listener.accept({ signal: AbortSignal.abort(new Error("enough")) }),
    Error,
    "enough",
  );
  await aborted;
  listener.close();
  listener.close();
  await waiting;
  assertEquals(await iterated, []);
  await listener[Symbol.asyncDispose]();
  assertEquals(await silent.read(new Uint8Array(1)).catch(() => null), null);
  await assertRejects(() => listener.accept(), BadResource);
});

netTest("connectRc() rejects if the peer sends something else than an address", async () => {
  for (const [what, data] of Object.entries(BAD)) {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const answering = (async () => {
      using tcp = await listener.accept();
      await tcp.read(new Uint8Array(4096));
      const message = typeof data === "string" ? bytes(data) : data;
      if (message.length > 0) await tcp.write(message).catch(() => {});
    })();
    await assertRejects(
      () => connectRc({ device: RXE, tcpPort: listener.addr.port, connectTimeout }),
      InvalidData,
      undefined,
      what,
    );
    await answering;
  }
});

netTest(
  "A peer that closes TCP and sends no address is named as the cause, at both ends",
  async () => {
    const closed = "the peer has closed the TCP connection and sent no address";
    for (const isReset of [false, true]) {
      using server = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const answering = (async () => {
        using tcp = await server.accept();
        // What was not read makes the kernel reset the connection.
        if (!isReset) await tcp.read(new Uint8Array(4096));
      })();
      const refused = connectRc({ device: RXE, tcpPort: server.addr.port, connectTimeout });
      await assertRejects(() => refused, ConnectionReset, closed);
      await answering;
    }
    await using listener = await listenRc({ device: RXE, connectTimeout, onFailure: () => {} });
    (await dial(listener)).close();
    await until("the failure", () => listener.stats.failed === 1);
    assertEquals((listener.stats.lastError as Error).message.includes(closed), true);
  },
);

netTest("A time-out names the step that it waited for", async () => {
  using server = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  // Long enough to make an end, and for a line that has been sent to be there.
  const own = { device: RXE, connectTimeout: 500 };
  const never = (): Promise<never> => new Promise(() => {});
  const silent = "500 ms: the peer has not sent its address";
  await assertRejects(() => connectRc({ ...own, tcpPort: server.addr.port }), TimedOut, silent);
  const given = "500 ms: exchange() has not given the address of the peer";
  await assertRejects(() => connectRc({ ...own, exchange: never }), TimedOut, given);
  {
    using _connect = stub(Deno, "connect", never as never);
    const step = 'TCP port 5 of "127.0.0.1" does not answer';
    await assertRejects(() => connectRc({ ...own, tcpPort: 5 }), TimedOut, step);
  }
  const patient = { ...own, peerGid: "any", onFailure: () => {} } as const;
  await using listener = await listenRc(patient);
  const unsaid = "the peer has answered, and then sent no first message";
  for (
    const [line, step] of [["", "500 ms: the peer has not sent its address"], [
      `${JSON.stringify(ADDRESS)}\n`,
      unsaid,
    ]] as const
  ) {
    const { failed } = listener.stats;
    using tcp = await dial(listener);
    await tcp.write(bytes(line));
    await until("the failure", () => listener.stats.failed > failed);
    assertStringIncludes((listener.stats.lastError as Error).message, step);
  }
});

netTest("connectRc() gives up on a silent peer, and when the signal aborts", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const tcpPort = listener.addr.port;
  const silent = connectRc({ device: RXE, tcpPort, connectTimeout: 50 });
  await assertRejects(() => silent, TimedOut);
  const signal = AbortSignal.timeout(50);
  await assertRejects(() => connectRc({ device: RXE, tcpPort, signal }), DOMException);
  const exchange = (): Promise<never> => new Promise(() => {});
  await assertRejects(() => connectRc({ device: RXE, exchange, connectTimeout: 50 }), TimedOut);
});

netTest("connectRc() closes a TCP connection that comes too late", async () => {
  const connecting = Promise.withResolvers<Deno.TcpConn>();
  using _connect = stub(Deno, "connect", () => connecting.promise as never);
  await assertRejects(() => connectRc({ device: RXE, tcpPort: 5, connectTimeout: 1 }), TimedOut);
  const closed = Promise.withResolvers<void>();
  connecting.resolve({ close: closed.resolve } as never);
  await closed.promise;
});

netTest("connectRc() rejects if the peer does not answer", async () => {
  const exchange = (mine: RcAddress): Promise<RcAddress> =>
    Promise.resolve({ ...mine, qpn: 0xff_fff0 });
  await assertRejects(
    () => connectRc({ device: RXE, exchange, connectTimeout, timeout: 10 }),
    Deno.errors.ConnectionReset,
    "RETRY_EXC_ERR",
  );
});

netTest("connectRc() rejects when there is no such device or port", async () => {
  const exchange = (): Promise<unknown> => Promise.resolve(ADDRESS);
  await assertRejects(() => connectRc({ device: "nosuch0", exchange }), Deno.errors.NotFound);
  await assertRejects(() => connectRc({ device: RXE, exchange, portNum: 9 }), RangeError);
});

netTest("listenRc() listens where it is told, by default for this host alone", async () => {
  await using first = await listenRc({ device: RXE });
  assertEquals(first.addr.hostname, "127.0.0.1");
  const { port } = first.addr;
  await using second = await listenRc({ device: RXE, hostname: "127.0.0.2", tcpPort: port });
  assertEquals([second.addr.hostname, second.addr.port], ["127.0.0.2", port]);
});
