// Each public method of the module is called on a device: a device that we wrote, as in the library tests, is no judge of RDMA.
import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  BorrowedMessage,
  connectRc,
  listenRc,
  listenUd,
  RcConn,
  RcListener,
  UdConn,
} from "../../../net/mod.ts";
// librdmacm keeps the device open: not within a test.
import { HOSTS } from "../cm/cm_device.ts";
import { deviceTest, QKEY, RXE } from "../setup.ts";
import { bytes, connectTimeout, text } from "./rc_pair.ts";

/** Notes which methods and getters of a class are called, until it is disposed of. */
class Called implements Disposable {
  readonly missing: Set<PropertyKey>;
  readonly #prototype: object;
  readonly #descriptors: Record<PropertyKey, PropertyDescriptor>;

  constructor({ prototype }: { readonly prototype: object }) {
    const { constructor: _, ...descriptors } = Object.getOwnPropertyDescriptors(prototype);
    this.#prototype = prototype;
    this.#descriptors = descriptors;
    this.missing = new Set(Reflect.ownKeys(descriptors));
    for (const key of this.missing) this.#watch(key);
  }

  #watch(key: PropertyKey): void {
    const descriptor = this.#descriptors[key]!;
    const kind = descriptor.get === undefined ? "value" : "get";
    const { missing } = this;
    const watching = function (this: unknown, ...args: unknown[]): unknown {
      missing.delete(key);
      return Reflect.apply(descriptor[kind], this, args);
    };
    Object.defineProperty(this.#prototype, key, { ...descriptor, [kind]: watching });
  }

  [Symbol.dispose](): void {
    Object.defineProperties(this.#prototype, this.#descriptors);
  }
}

deviceTest("Each method of UdConn works on rxe", async () => {
  using called = new Called(UdConn);
  await using server = await listenUd({ device: RXE, qkey: QKEY });
  using client = await listenUd({ device: RXE, qkey: QKEY, gidIndex: server.gidIndex });
  assertStringIncludes(Deno.inspect(server), `${server.addr.qpNum}`);
  assertEquals([client.gidReason === "", client.addr.gid], [false, server.addr.gid]);
  server.unref();
  server.ref();
  assertEquals(await client.send(bytes("1"), server.addr), 1);
  const [message, from] = await server.receive();
  assertEquals([text(message), from.qpNum], ["1", client.addr.qpNum]);
  assertEquals(await server.sendMany([[bytes("2"), from], [bytes("3"), from]]), 2);
  const room = new Uint8Array(client.maxMessage);
  const answers: string[] = [];
  while (answers.length < 2) {
    answers.push(...(await client.receiveMany(room)).map(([answer]) => text(answer)!));
  }
  assertEquals([answers, server.stats.sent], [["2", "3"], 2]);
  await client.send(bytes("borrowed"), server.addr);
  {
    using datagram = await server.borrow();
    assertEquals([text(datagram.bytes), datagram.from.qpNum], ["borrowed", client.addr.qpNum]);
  }
  await using other = await listenUd({ device: RXE, port: 0 });
  await using finder = await listenUd({ device: RXE });
  const found = await finder.lookup({ hostname: HOSTS.IPv4, port: other.port! });
  assertEquals(found.qpNum, other.addr.qpNum);
  const joined = await client.join("239.1.2.3");
  client.leave("239.1.2.3");
  assertEquals(await client.join(joined.gid, { deviceOnly: true }), joined);
  client.leave(joined.gid);
  await server.send(bytes("4"), from);
  for await (const [last] of client) {
    assertEquals(text(last), "4");
    client.close();
  }
  client[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
  assertEquals([...called.missing], []);
});

deviceTest("Each method of RcListener and RcConn works on rxe", async () => {
  using listening = new Called(RcListener);
  using connecting = new Called(RcConn);
  using borrowing = new Called(BorrowedMessage);
  await using listener = await listenRc({ device: RXE, connectTimeout });
  const { port: tcpPort } = listener.addr;
  const connect = (): Promise<RcConn> => connectRc({ device: RXE, tcpPort, connectTimeout });
  const [client, server] = await Promise.all([connect(), listener.accept()]);
  for (const one of [listener, client]) {
    one.unref();
    one.ref();
  }
  assertStringIncludes(Deno.inspect(listener), `${tcpPort}`);
  assertStringIncludes(Deno.inspect(client), `${client.peer.qpNum}`);
  assertEquals(client.remoteAddr, { hostname: "127.0.0.1", port: tcpPort });
  await client.send(bytes("1"));
  await client.flush();
  assertEquals([text(await server.receive()), server.maxMessage], ["1", client.maxMessage]);
  assertEquals([client.stats.sent, server.stats.bytesReceived], [1, 1]);
  using memory = await server.expose(16);
  await client.write(memory.remote, 8, bytes("written!"), { immData: 7 });
  for await (const imm of server.writes()) {
    assertEquals(imm, 7);
    break;
  }
  assertEquals(text(await client.read(memory.remote, 8, 8)), "written!");
  assertEquals(await client.fetchAndAdd(memory.remote, 0, 5n), 0n);
  assertEquals(await client.compareAndSwap(memory.remote, 0, 5n, 6n), 5n);
  for (const word of ["4", "5"]) await client.send(bytes(word));
  {
    using message = await server.borrow();
    assertEquals(text(message!.bytes), "4");
    assertStringIncludes(Deno.inspect(message), "1");
    message!.close();
  }
  assertEquals((await server.receiveMany(new Uint8Array(8)))!.map(text), ["5"]);
  const writer = server.writable.getWriter();
  await writer.write(bytes("2"));
  await writer.write(bytes("3"));
  await writer.close();
  for await (const message of client) {
    assertEquals(text(message), "2");
    break;
  }
  assertEquals((await Array.fromAsync(client.readable)).map(text), ["3"]);
  await client.close();
  assertEquals(await client.closed, { reason: "closed here" });
  await server.close();
  const waiting = connect();
  for await (const accepted of listener) {
    accepted[Symbol.dispose]();
    break;
  }
  await (await waiting)[Symbol.asyncDispose]();
  assertEquals([listener.stats.connected, listener.stats.failed], [2, 0]);
  listener.close();
  listener[Symbol.dispose]();
  await listener[Symbol.asyncDispose]();
  const missing = [listening, connecting, borrowing].flatMap((called) => [...called.missing]);
  assertEquals(missing, []);
});
