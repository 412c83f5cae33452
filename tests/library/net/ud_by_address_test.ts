// Datagrams between connections that find each other by address, without a network.
import { assertEquals, assertRejects } from "@std/assert";
import { stub } from "@std/testing/mock";
import { constants } from "node:os";
import { CmError, CmId, PortSpace } from "../../../cm.ts";
import { orAborted } from "../../../wait/abort.ts";
import { VerbsError, WrOpcode } from "../../../mod.ts";
import { listenUd, type LookupOptions, type UdConn } from "../../../net/mod.ts";
import * as recorder from "../../provider/recorder.ts";
import type { RecordedStruct } from "../../provider/records.ts";
import { until } from "../../until.ts";
import { type FakeBed, fakesLeft, test as testOn } from "../cm/fake.ts";

const { AddrInUse, BadResource, ConnectionRefused, NotSupported, TimedOut } = Deno.errors;
const UDP_QKEY = 0x0123_4567;
const port = 7471;
const to = { hostname: "host", port };

/** Defines a test on a network whose hosts reach each other by IPv4, from the IPv4 address of the recorder. */
function test(title: string, body: (bed: FakeBed, client: UdConn) => Promise<void>): void {
  testOn(title, async (bed) => {
    bed.connect("IPv4");
    await using client = await open();
    await body(bed, client);
  });
}

/** A connection whose GID is an IPv4 address. */
async function open(options: Parameters<typeof listenUd>[0] = {}): Promise<UdConn> {
  return await listenUd({ device: "recorder0", gidIndex: 1, ...options });
}

/** Has requests come over another port of the device. */
function requestsOver(portNum: number): Disposable {
  const { prototype } = CmId;
  const own = Object.getOwnPropertyDescriptor(prototype, "portNum")!;
  Object.defineProperty(prototype, "portNum", {
    configurable: true,
    get(this: CmId): number {
      return this.state === "REQUESTED" ? portNum : own.get!.call(this);
    },
  });
  return { [Symbol.dispose]: () => void Object.defineProperty(prototype, "portNum", own) };
}

test("UdConn.lookup() finds a connection at a port of a host, which answers", async (_, client) => {
  await using server = await open({ port });
  assertEquals([server.port, client.port], [port, undefined]);
  const found = await client.lookup(to);
  const { maxMessage } = server;
  const { qpNum } = server.addr;
  const gid = "::ffff:10.0.0.2";
  assertEquals(found, { transport: "UD", gid, lid: 0, qpNum, qkey: UDP_QKEY, maxMessage });
  await client.send(Uint8Array.of(7), found);
  const [message, from] = await server.receive();
  assertEquals([message, from.qpNum], [Uint8Array.of(7), client.addr.qpNum]);
  await server.send(Uint8Array.of(8), from);
  assertEquals((await client.receive())[0], Uint8Array.of(8));
});

test(
  "A datagram names its queue pair in the immediate data, to which udaddy answers",
  async (_, client) => {
    await using server = await open({ port });
    const found = await client.lookup(to);
    recorder.take();
    await client.send(Uint8Array.of(7), found);
    await server.receive();
    const [sent] = recorder.takeOf("ibv_post_send");
    const { opcode, imm_data } = (sent!.args["wr[0]"] as RecordedStruct).fields;
    assertEquals([opcode, imm_data], [WrOpcode.SEND_WITH_IMM, client.addr.qpNum]);
  },
);

test(
  "UdConn.lookup() tells that nobody listens, and with retryInterval waits for who will",
  async (_, client) => {
    const words = 'Cannot look up "host" port 7471: the event is UNREACHABLE (1: nobody listens';
    await assertRejects(() => client.lookup(to), ConnectionRefused, words);
    const patient = { retryInterval: 100, timeout: 500 };
    await assertRejects(() => client.lookup(to, patient), ConnectionRefused, words);
    const looking = client.lookup(to, { retryInterval: 1 });
    await new Promise((resolve) => setTimeout(resolve, 5));
    await using server = await open({ port });
    assertEquals((await looking).qpNum, server.addr.qpNum);
  },
);

test("UdConn.lookup() refuses a loopback address at once", async ({ net }, client) => {
  net.takeCalls();
  for (const hostname of ["127.0.0.1", "127.1.2.3"]) {
    const words = `Cannot look up "${hostname}" port 7471: `;
    await assertRejects(
      () => client.lookup({ hostname, port }),
      Deno.errors.AddrNotAvailable,
      words,
    );
  }
  assertEquals(net.takeCalls().includes("connect"), false);
});

test(
  "UdConn.lookup() ends with its time, with its signal and with the connection",
  async (_, client) => {
    const { promise: never } = Promise.withResolvers<never>();
    using _hanging = stub(
      CmId.prototype,
      "connect",
      (_qp, _param, options) => orAborted(never, options?.signal),
    );
    const words =
      'Cannot look up "host" port 7471: it took longer than 500 ms: the host does not answer: there may be none, it may';
    await assertRejects(() => client.lookup(to, { timeout: 500 }), TimedOut, words);
    const abort = new AbortController();
    const aborted = client.lookup(to, { signal: abort.signal });
    abort.abort(new Error("enough"));
    await assertRejects(() => aborted, Error, "enough");
    const closed = client.lookup(to);
    await new Promise((resolve) => setTimeout(resolve, 5));
    client.close();
    await assertRejects(() => closed, BadResource, "the socket is closed");
    await assertRejects(() => client.lookup(to), BadResource, "Cannot look up");
  },
);

test(
  "UdConn.lookup() refuses what cannot work, before anybody is asked",
  async ({ net }, client) => {
    net.takeCalls();
    const wrong: [address: unknown, options: unknown, type: new () => Error][] = [
      [{ hostname: "host" }, {}, TypeError],
      [{ ...to, port: 0 }, {}, RangeError],
      [{ ...to, port: 65536 }, {}, RangeError],
      [{ port }, {}, TypeError],
      ["host", {}, TypeError],
      [to, { timeout: 0 }, RangeError],
      [to, { retryInterval: -1 }, RangeError],
      [to, { timeOut: 5 }, TypeError],
      [to, { signal: {} }, TypeError],
    ];
    for (const [address, options, type] of wrong) {
      await assertRejects(() => client.lookup(address as never, options as LookupOptions), type);
    }
    await using other = await open({ qkey: 7 });
    await assertRejects(() => other.lookup(to), TypeError, "the qkey of the socket is 0x7");
    await assertRejects(() => open({ port, qkey: 7 }), TypeError, "who is found by address has");
    await assertRejects(() => open({ port: 65536 }), RangeError, "port");
    const { NotFound } = Deno.errors;
    await assertRejects(() => client.lookup({ ...to, hostname: "nobody" }), CmError, "not known");
    await assertRejects(() => open({ port, device: "none" }), NotFound);
    assertEquals(net.takeCalls().filter((name) => /^(resolve|connect)/.test(name)), []);
  },
);

test(
  "UdConn.lookup() refuses a connection whose device does not lead there",
  async (bed, client) => {
    bed.connect("IPv6");
    await assertRejects(() => client.lookup(to), CmError, "ADDR_ERROR");
    bed.connect("IPv4");
    using _elsewhere = stub(CmId.prototype, "resolveRoute", function (this: CmId): Promise<void> {
      Object.defineProperty(this, "portNum", { value: 2 });
      return Promise.resolve();
    });
    await assertRejects(() => client.lookup(to), NotSupported, "port 2 of device");
  },
);

test(
  "A program in C is found, and finds a connection, without data of this module",
  async ({ net }, client) => {
    const listener = new CmId(net.channel, PortSpace.UDP);
    listener.bindAddr({ hostname: "10.0.0.1", port });
    listener.listen();
    const looking = client.lookup(to);
    const request = await net.next();
    await request.accept(0x123456);
    const { qpNum, maxMessage } = await looking;
    assertEquals([qpNum, maxMessage], [0x123456, undefined]);
    listener.close();
    await using server = await open({ port });
    const id = new CmId(net.channel, PortSpace.UDP);
    await id.resolveAddr({ hostname: "10.0.0.2", port });
    await id.resolveRoute();
    const { ud } = await id.connect(0x654321);
    assertEquals([ud!.qpNum, ud!.qkey], [server.addr.qpNum, UDP_QKEY]);
  },
);

test(
  "A connection answers hundreds who look for it, keeps nothing of them, and serves after one that fails",
  async ({ net }, client) => {
    await using server = await open({ port });
    const ids = fakesLeft();
    const gone = () => Promise.reject(new Error("the peer has gone"));
    const failing = stub(CmId.prototype, "accept", gone);
    const failed = client.lookup(to, { timeout: 20 });
    await assertRejects(() => failed, TimedOut);
    failing.restore();
    net.takeCalls();
    const found = await Promise.all(Array.from({ length: 300 }, () => client.lookup(to)));
    assertEquals(new Set(found.map(({ qpNum }) => qpNum)), new Set([server.addr.qpNum]));
    await until("the end of the ids", () => fakesLeft() === ids);
  },
);

test(
  "A connection does not answer who comes by another port of the device",
  async ({ net }, client) => {
    await using _server = await open({ port });
    using _elsewhere = requestsOver(2);
    net.takeCalls();
    await assertRejects(() => client.lookup(to, { timeout: 20 }), TimedOut);
    assertEquals(net.takeCalls().includes("accept"), false);
  },
);

test("listenUd() with a port that another program uses leaves nothing open", async ({ net }) => {
  net.fail("rdma_bind_addr", constants.errno.EADDRINUSE);
  await assertRejects(() => open({ port }), AddrInUse, "uses port 7471");
  // That of a port at all addresses.
  net.fail("rdma_bind_addr", constants.errno.EADDRNOTAVAIL);
  await assertRejects(() => open({ port }), AddrInUse, "another one of this host uses port 7471 (");
  net.fail("rdma_bind_addr", constants.errno.ENODEV);
  await assertRejects(() => open({ port }), VerbsError, "ENODEV");
  net.takeCalls();
});
