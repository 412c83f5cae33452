// What only a kernel shows: two MTUs, what it has of a path, and events that move with an id.
import { assertEquals, assertRejects } from "@std/assert";
import { stub } from "@std/testing/mock";
import { CmEventType, EventChannel } from "../../../cm.ts";
import { QueuePair } from "../../../mod.ts";
import { connectRc, listenRc, listenUd } from "../../../net/mod.ts";
import { CmDevice, HOSTS } from "../cm/cm_device.ts";
import { addDevice, addDummy, gidIndexOf } from "../links.ts";
import { run } from "../run.ts";
import { deviceTest, QKEY, until } from "../setup.ts";
import { bytes, connectTimeout, text } from "./rc_pair.ts";

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

deviceTest(
  "UdConn at an MTU of 1024 counts the longer datagrams of an honest peer, and loses no other one",
  async () => {
    await using stack = new AsyncDisposableStack();
    const [netdev, device] = ["mtus0", "rxe_mtus"];
    await addDummy(stack, netdev);
    await run("ip", "addr", "add", "10.66.0.1/24", "dev", netdev);
    await run("ip", "link", "set", netdev, "mtu", "1500");
    await addDevice(stack, device, netdev);
    await until("the address", () => gidIndexOf(device) !== undefined);
    await using server = await listenUd({ device, qkey: QKEY });
    await run("ip", "link", "set", netdev, "mtu", "9000");
    await using client = await listenUd({ device, qkey: QKEY });
    assertEquals([server.maxMessage, client.maxMessage], [1024, 4096]);
    const { maxMessage: _, ...addr } = server.addr;
    const signal = AbortSignal.timeout(30_000);
    for (const length of [1025, 1200, 1440, 4096]) {
      await client.send(bytes("before"), addr);
      await client.send(new Uint8Array(length), addr);
      await client.send(bytes("after"), addr);
      for (const word of ["before", "after"]) {
        assertEquals(text((await server.receive({ signal }))[0]), word);
      }
    }
    const { received, dropped, recvErrors, resets } = server.stats;
    assertEquals([received, dropped, recvErrors, resets], [12, 4, 0, 0]);
    await assertRejects(
      () => client.send(new Uint8Array(1025), server.addr),
      RangeError,
      "most 1024",
    );
  },
);

deviceTest(
  "Both ends by port have the RNR timer and the traffic class that they have over TCP",
  async () => {
    const qps = new Set<QueuePair>();
    const { modify } = QueuePair.prototype;
    using _ = stub(QueuePair.prototype, "modify", function (this: QueuePair, attr): void {
      qps.add(this);
      modify.call(this, attr);
    });
    const port = 7990;
    const options = { connectTimeout, ackTimeout: 16, retryCnt: 3 };
    for (const [trafficClass, expected] of [[undefined, 104], [8, 8]] as const) {
      qps.clear();
      await using listener = await listenRc({
        ...{ port, ...options },
        ...trafficClass !== undefined && { trafficClass },
      });
      const accepted = listener.accept();
      const to = { hostname: HOSTS.IPv4, port, ...options, trafficClass: 104 };
      await using client = await connectRc(to);
      await using server = await accepted;
      await client.send(bytes("hello"));
      assertEquals(text(await server.receive()), "hello");
      const attrs = [...qps].map((qp) => qp.query().attr);
      assertEquals(
        attrs.map(({ minRnrTimer, timeout, retryCnt, rnrRetry }) => [
          ...[minRnrTimer, timeout, retryCnt, rnrRetry],
        ]),
        [[14, 16, 3, 6], [14, 16, 3, 6]],
      );
      const classes = attrs.map(({ ahAttr }) => ahAttr.grh.trafficClass);
      assertEquals(classes.toSorted(), [104, expected].toSorted());
    }
  },
);

deviceTest("An event that waits in the kernel when its id moves comes at once", async () => {
  using bed = new CmDevice();
  const { client, server } = await bed.connected(bed.listener());
  using first = new EventChannel();
  using second = new EventChannel();
  server.migrate(first);
  // Nobody reads what comes for the server.
  await client.disconnect({ timeout: 100 });
  const signal = AbortSignal.timeout(5000);
  const waiting = second.events({ signal }).next();
  await pause(100);
  server.migrate(second);
  assertEquals((await waiting).value?.event, CmEventType.DISCONNECTED);
});
