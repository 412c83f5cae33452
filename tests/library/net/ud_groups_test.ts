// Groups that are joined by their IP addresses, without a network.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { stub } from "@std/testing/mock";
import { constants } from "node:os";
import { structs } from "../../../ffi/layout.ts";
import { CmId, type UdParam } from "../../../cm.ts";
import { Gid, VerbsError } from "../../../mod.ts";
import { listenUd, type UdConn } from "../../../net/mod.ts";
import { settled } from "../../../wait/descriptors.ts";
import { FakeBed } from "../cm/fake.ts";

const GROUP = "239.1.2.3";
const qkey = 7;

function test(title: string, body: (conn: UdConn, bed: FakeBed) => Promise<void>): void {
  Deno.test(title, async () => {
    {
      using bed = new FakeBed();
      bed.connect("IPv4");
      await using conn = await listenUd({ device: bed.context.device.name, qkey });
      await body(conn, bed);
    }
    // Ends when no other thread waits any more.
    await settled();
  });
}

test(
  "UdConn.join() and leave() tell the network of a group, and the device",
  async (conn, { net }) => {
    const gid = `::ffff:${GROUP}`;
    net.takeCalls();
    const addr = await conn.join(GROUP);
    assertEquals(addr, { transport: "UD", gid, lid: 0, qpNum: 0xff_ffff, qkey });
    const made = ["create_event_channel", "create_id", "bind_addr", "join_multicast"];
    assertEquals(net.takeCalls(), made);
    assertEquals(recorder.takeOf("ibv_attach_mcast").length, 1);
    await assertRejects(() => conn.join(GROUP), TypeError, "in it already");
    net.takeCalls();
    conn.leave(GROUP);
    assertEquals(net.takeCalls(), ["leave_multicast", "destroy_id"]);
    assertEquals(recorder.takeOf("ibv_detach_mcast").length, 1);
    assertThrows(() => conn.leave(GROUP), TypeError, "has not joined");
    assertEquals((await conn.join(GROUP)).gid, gid);
    conn.leave(gid);
    assertEquals(net.takeCalls().slice(-2), ["leave_multicast", "destroy_id"]);
  },
);

test("A socket is in a group once, by the network or on the device only", async (conn) => {
  for (const [first, second] of [[{ deviceOnly: true }, {}], [{}, { deviceOnly: true }]]) {
    await conn.join(GROUP, first);
    await assertRejects(() => conn.join(GROUP, second), TypeError, "in it already");
    conn.leave(GROUP);
    assertThrows(() => conn.leave(GROUP), TypeError, "has not joined");
  }
});

test(
  "UdConn.leave() that the device refuses leaves the group for the host",
  async (conn, { net }) => {
    await conn.join(GROUP);
    recorder.fail("ibv_detach_mcast", "EINVAL", { times: 1 });
    net.takeCalls();
    assertThrows(() => conn.leave(GROUP), VerbsError, "EINVAL");
    assertEquals(net.takeCalls(), ["leave_multicast", "destroy_id"]);
    assertThrows(() => conn.leave(GROUP), TypeError, "has not joined");
  },
);

test("UdConn.leave() leaves the group that InfiniBand has given to an IP address", async (conn) => {
  const dgid = Gid.parse("ff12:401b:ffff::ef01:203");
  const { joinMulticast } = CmId.prototype;
  using _elsewhere = stub(
    CmId.prototype,
    "joinMulticast",
    async function (this: CmId, ...given): Promise<UdParam> {
      const param = await joinMulticast.apply(this, given);
      return { ...param, ahAttr: { ...param.ahAttr, grh: { ...param.ahAttr.grh!, dgid } } };
    },
  );
  for (const name of [GROUP, dgid.toString()]) {
    recorder.take();
    assertEquals((await conn.join(GROUP)).gid, dgid.toString());
    conn.leave(name);
    const calls = recorder.takeOf("ibv_attach_mcast", "ibv_detach_mcast");
    const [attached, detached] = calls.map(({ args }) => args);
    assertEquals(detached!.gid, attached!.gid);
  }
});

test("UdConn.join() that fails leaves nothing", async (conn, { net }) => {
  net.fail("rdma_join_multicast", constants.errno.EADDRNOTAVAIL);
  await assertRejects(() => conn.join(GROUP), VerbsError, "EADDRNOTAVAIL");
  assertEquals(net.takeCalls().at(-1), "destroy_id");
  await assertRejects(
    () => conn.join("10.0.0.1"),
    RangeError,
    "10.0.0.1 is not an address of multicast",
  );
  await assertRejects(() => conn.join("nowhere"), SyntaxError);
  assertEquals(net.takeCalls(), []);
  const controller = new AbortController();
  net.answerGroups(undefined);
  const joining = conn.join(GROUP, { signal: controller.signal });
  const reason = new Error("enough");
  controller.abort(reason);
  assertEquals(await assertRejects(() => joining), reason);
  conn.close();
  await assertRejects(() => conn.join(GROUP), Deno.errors.BadResource);
});

Deno.test("UdConn.join() from a link-local address names its network interface", async () => {
  for (
    const [ndev_ifindex, words] of [
      [2, undefined],
      [0, "Cannot join group: fe80::ff:fe00:1 is no IP address of a network"],
    ] as const
  ) {
    {
      using bed = new FakeBed();
      bed.connect("IPv4");
      recorder.answer("_ibv_query_gid_table", { ndev_ifindex });
      const device = bed.context.device.name;
      await using conn = await listenUd({ device, qkey, gidIndex: 0 });
      assertEquals(conn.addr.gid.startsWith("fe80::"), true);
      const joined = conn.join(GROUP);
      if (words === undefined) assertEquals((await joined).gid, `::ffff:${GROUP}`);
      else await assertRejects(() => joined, Deno.errors.NotSupported, words);
    }
    await settled();
  }
});

Deno.test("UdConn.join() from a loopback address tells that it reaches this host only", async () => {
  {
    using bed = new FakeBed();
    bed.connect("IPv4");
    const loopback = Gid.parse("127.0.0.1").bytes;
    recorder.answerBytes("_ibv_query_gid_table", loopback, structs.ibv_gid_entry.fields.gid.offset);
    const device = bed.context.device.name;
    await using conn = await listenUd({ device, qkey, gidIndex: 0 });
    assertEquals(conn.addr.gid, "::ffff:127.0.0.1");
    const words = "::ffff:127.0.0.1 reaches this host only; choose another gidIndex";
    await assertRejects(() => conn.join(GROUP), Deno.errors.NotSupported, words);
  }
  await settled();
});
