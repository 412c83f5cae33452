// When connections post, poll and look up addresses, which costs system calls on some devices.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals } from "@std/assert";
import { assertSpyCalls, spy, stub } from "@std/testing/mock";
import { nonblocking } from "../../../ffi/library.ts";
import { CompletionQueue, WcOpcode } from "../../../mod.ts";
import { listenUd, type UdConn, type UdOptions } from "../../../net/mod.ts";
import { ChannelEvents } from "../../../types/completion/channel_events.ts";

import { pair, rcPair, RXE, test } from "./recorder_net.ts";

const MESSAGE = Uint8Array.of(1);

/** A connection that knows its own address, on a device that moves data. */
async function open(options: Partial<UdOptions> = {}): Promise<UdConn> {
  recorder.reset();
  recorder.connect();
  const conn = await listenUd({ device: RXE, qkey: 7, ...options });
  await conn.send(MESSAGE, conn.addr);
  await conn.receive();
  recorder.take();
  return conn;
}

/** The lengths of the lists of requests that were posted since the last look. */
function lists(): number[] {
  return recorder.takeOf("ibv_post_send").map(({ args }) =>
    Object.keys(args).filter((name) => /^wr\[\d+\]$/.test(name)).length
  );
}

function turns(count: number): Promise<void> {
  return new Promise((resolve) => {
    const turn = (left: number): void => left === 0 ? resolve() : void setImmediate(turn, left - 1);
    turn(count);
  });
}

Deno.test("UdConn posts datagrams that follow each other as lists of at most 32", async () => {
  await using conn = await open();
  for (let i = 0; i < 70; i++) conn.send(MESSAGE, conn.addr);
  assertEquals(lists(), [32, 32]);
  await turns(1);
  assertEquals(lists(), [6]);
});

Deno.test("UdConn posts a list when no datagram follows for a few microtasks", async () => {
  await using conn = await open();
  for (let i = 0; i < 12; i++) {
    for (let task = 0; task < i % 4; task++) await Promise.resolve();
    conn.send(MESSAGE, conn.addr);
  }
  assertEquals(lists(), []);
  await turns(1);
  assertEquals(lists(), [12]);
});

Deno.test("UdConn posts the first datagram after a wait at once, if it was alone the last time", async () => {
  await using conn = await open();
  const posted: number[][] = [];
  for (let i = 0; i < 5; i++) {
    // Before it polls, there is what is sent now.
    const waiting = conn.receive();
    conn.send(MESSAGE, conn.addr);
    posted.push(lists());
    await waiting;
    recorder.take();
  }
  assertEquals(posted.slice(2), [[1], [1], [1]]);
});

Deno.test("UdConn posts its datagrams before another connection of the program polls", async () => {
  await using relay = await open();
  await using receiver = await listenUd({ device: RXE, qkey: 7 });
  const polls = stub(CompletionQueue.prototype, "pollInto", () => 0);
  for (let i = 0; i < 3; i++) relay.send(MESSAGE, relay.addr);
  const waiting = receiver.receive();
  assertEquals(lists(), []);
  await undefined;
  await undefined;
  polls.restore();
  assertEquals(lists(), [3]);
  await receiver.send(MESSAGE, receiver.addr);
  await waiting;
});

Deno.test("UdConn posts each datagram at once while an address handle is made", async () => {
  await using conn = await open();
  recorder.delay("ibv_create_ah", 30);
  const unknown = conn.send(MESSAGE, { ...conn.addr, gid: "::ffff:10.0.0.9" });
  for (let i = 0; i < 3; i++) conn.send(MESSAGE, conn.addr);
  assertEquals(lists(), [1, 1, 1]);
  await unknown;
  await turns(1);
  assertEquals(lists(), [1]);
});

Deno.test("UdConn.send() asks for an event only while somebody waits for a slot that no poll frees", async () => {
  await using conn = await open({ sendDepth: 4 });
  for (let i = 0; i < 9; i++) await conn.send(MESSAGE, conn.addr);
  const armed = (): number =>
    recorder.takeOf("ibv_req_notify_cq").filter(({ args }) => args.cq === "cq0").length;
  assertEquals(armed(), 0);
});

Deno.test("UdConn.receive() asks for no event if its datagram comes while it polls", async () => {
  for (const isThere of [true, false]) {
    await using conn = await open({ spinMicroseconds: 1000 });
    if (isThere) await conn.send(MESSAGE, conn.addr);
    recorder.take();
    const waiting = conn.receive();
    await turns(20);
    const armed = recorder.takeOf("ibv_req_notify_cq").length > 0;
    assertEquals([isThere, armed], [isThere, !isThere]);
    if (!isThere) await conn.send(MESSAGE, conn.addr);
    await waiting;
  }
});

test("connections look up the address of the peer on another thread", async () => {
  using later = spy(nonblocking(), "ibv_modify_qp");
  await using _pair = await rcPair();
  assertSpyCalls(later, 2);
});

pair.test("RcConn posts writes that are begun together before it polls for the first of them", async ({ client, server }) => {
  const { remote } = await server.expose(8);
  // After it nobody waits.
  await client.write(remote, 0, MESSAGE);
  await turns(1);
  recorder.take();
  await Promise.all(Array.from({ length: 4 }, () => client.write(remote, 0, MESSAGE)));
  const calls = recorder.takeOf("ibv_post_send", "ibv_poll_cq").map(({ verb }) => verb);
  const posts = new Array(4).fill("ibv_post_send");
  assertEquals(calls.slice(0, 5), [...posts, "ibv_poll_cq"]);
  // On a busy host a pause may end meanwhile, with one more poll.
  assertEquals(calls.filter((verb) => verb === "ibv_post_send"), posts);
});

Deno.test("UdConn.receive() leaves no events unread if its datagrams come while it arms the queue", async () => {
  await using conn = await open({ spinMicroseconds: 0 });
  const { arm } = ChannelEvents.prototype;
  using _ = stub(ChannelEvents.prototype, "arm", function (this: object, ...args): void {
    arm.apply(this as ChannelEvents<CompletionQueue>, args);
    recorder.complete("cq1", { opcode: WcOpcode.RECV, byte_len: 41 });
  });
  for (let i = 0; i < 10; i++) await conn.receive();
  const events = recorder.takeOf("ibv_get_cq_event").filter(({ result }) => result === 0);
  // Of the last one the next wait learns.
  assertEquals(events.length, 10 - 1);
});

Deno.test("UdConn.receive() copies messages of any length to a buffer", async () => {
  await using conn = await open();
  for (const length of [0, 1, 127, 128, 1000]) {
    const message = Uint8Array.from({ length }, (_, i) => i + 1);
    const buffer = new Uint8Array(1000);
    await conn.send(message, conn.addr);
    const [received] = await conn.receive(buffer);
    assertEquals(received, message);
    assertEquals([received.buffer === buffer.buffer, buffer[length] ?? 0], [true, 0]);
  }
});
