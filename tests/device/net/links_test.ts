// Connections over links whose addresses come and go, or where nobody answers. The library tests have the rest.
import { assertEquals, assertRejects } from "@std/assert";
import { connectRc, listenRc, listenUd } from "../../../net/mod.ts";
import { movingLink } from "../moving_link.ts";
import { deviceTest, QKEY, until } from "../setup.ts";
import { slowLink } from "../slow_link.ts";
import { bytes, connectTimeout, text } from "./rc_pair.ts";

deviceTest("UdConn.send() to a peer that does not answer delays nobody else", async () => {
  await using link = await slowLink();
  await using conn = await listenUd({ device: link.context.device.name, qkey: QKEY, sendDepth: 2 });
  const gone = { ...conn.addr, gid: link.peer.grh.dgid.toString() };
  await conn.send(bytes("own"), conn.addr);
  await conn.receive();
  const abort = new AbortController();
  const lost = Array.from(
    { length: 8 },
    () => assertRejects(() => conn.send(bytes("x"), gone, { signal: abort.signal }), Error, "gone"),
  );
  for (let i = 0; i < 5; i++) {
    await conn.send(bytes(String(i)), conn.addr);
    assertEquals(text((await conn.receive())[0]), String(i));
  }
  assertEquals(conn.stats.sent, 6);
  abort.abort(new Error("gone"));
  await Promise.all(lost);
});

deviceTest("UdConn makes address handles again when the GIDs of the port change", async () => {
  await using link = await movingLink();
  await link.add("10.8.0.1");
  await using conn = await listenUd({ device: link.context.device.name, qkey: QKEY });
  assertEquals(conn.addr.gid, "::ffff:10.8.0.1");
  await conn.send(bytes("1"), conn.addr);
  const [, from] = await conn.receive();
  assertEquals(from.gid, "::ffff:10.8.0.1");
  await link.add("10.9.1.2");
  await link.remove("10.8.0.1");
  while (conn.addr.gid !== "::ffff:10.9.1.2") await new Promise((r) => setTimeout(r, 5));
  await conn.send(bytes("2"), conn.addr);
  const [message, again] = await conn.receive();
  assertEquals([text(message), again.gid], ["2", "::ffff:10.9.1.2"]);
  // The packet was sent to an address that is not ours any more.
  await assertRejects(() => conn.send(bytes("3"), from), Error);
});

deviceTest("RcListener serves on after its address was away", async () => {
  await using link = await movingLink();
  const address = "10.8.0.1";
  await link.add(address);
  const device = link.context.device.name;
  await using listener = await listenRc({ device, connectTimeout });
  const tcpPort = listener.addr.port;
  for (let i = 0; i < 5; i++) {
    await link.flap(address, 3);
    await until("the address", () => link.slotOf(address) !== undefined);
    const accepted = listener.accept({ signal: AbortSignal.timeout(connectTimeout) });
    await using client = await connectRc({ device, tcpPort, connectTimeout, ackTimeout: 10 });
    await using server = await accepted;
    await client.send(bytes("after a flap"));
    assertEquals(text(await server.receive()), "after a flap");
    // This connection is lost with its address, and the next one works.
    await link.remove(address);
    await client.send(bytes("lost")).catch(() => {});
    await link.add(address);
  }
  assertEquals(listener.stats.connected, 5);
});
