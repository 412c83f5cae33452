// Multicast within one host: who of its members receives, by how they joined.
import { assertEquals } from "@std/assert";
import { CmId, PortSpace } from "../../../cm.ts";
import { AddressHandle, type AhAttrInit, Gid, QpType } from "../../../mod.ts";
import { listenUd, type UdConn } from "../../../net/mod.ts";
import { deviceTest, type End, gidOf, makeEnd, RXE, waitFor } from "../setup.ts";
import { CmDevice, HOSTS } from "./cm_device.ts";

const patience = (): { signal: AbortSignal } => ({ signal: AbortSignal.timeout(20_000) });

/** An end for datagrams, with a receive. */
function endFor(bed: CmDevice, id: CmId): End {
  const end = makeEnd(bed.pd, QpType.UD);
  id.prepare(end.qp);
  end.qp.postRecv({ sge: end.mr.sge(0, 1024) });
  return end;
}

deviceTest(
  "A group that an id has joined has all members of this host, also the sender",
  async () => {
    using bed = new CmDevice();
    const address = "239.1.2.5";
    const ends: End[] = [];
    for (let i = 0; i < 3; i++) {
      const id = new CmId(bed.channel, PortSpace.UDP);
      id.bindAddr({ hostname: HOSTS.IPv4, port: 0 });
      ends.push(endFor(bed, id));
      const { ahAttr, qkey, qpNum } = await id.joinMulticast(address);
      ends[i]!.qp.attachMcast(ahAttr.grh.dgid);
      if (i < 2) continue;
      const [sender] = ends;
      using ah = new AddressHandle(bed.pd, ahAttr);
      sender!.qp.postSend({ sge: sender!.mr.sge(0, 8), ah, remoteQpn: qpNum, remoteQkey: qkey });
    }
    const counts = [2, 1, 1];
    for (const [i, { cq }] of ends.entries()) {
      for (const wc of await waitFor(cq, counts[i])) wc.check();
    }
  },
);

deviceTest(
  "A group that only queue pairs are attached to has no member on the sender's host",
  async () => {
    using bed = new CmDevice();
    const id = new CmId(bed.channel, PortSpace.UDP);
    id.bindAddr({ hostname: HOSTS.IPv4, port: 0 });
    const [sender, member] = [endFor(bed, id), endFor(bed, id)];
    const dgid = Gid.parse("::ffff:239.1.2.6");
    member.qp.attachMcast(dgid);
    const { gid: host, gidIndex: sgidIndex } = gidOf(bed.context, "ipv4");
    const pathTo = (dgid: Gid): AhAttrInit => ({
      portNum: 1,
      grh: { dgid, sgidIndex, hopLimit: 1 },
    });
    using group = new AddressHandle(bed.pd, pathTo(dgid));
    using own = new AddressHandle(bed.pd, pathTo(host));
    const sge = sender.mr.sge(0, 8);
    const remoteQkey = 0x0123_4567;
    sender.qp.postSend({ wrId: 1, sge, ah: group, remoteQpn: 0xff_ffff, remoteQkey });
    sender.qp.postSend({ wrId: 2, sge, ah: own, remoteQpn: member.qp.qpNum, remoteQkey });
    await waitFor(sender.cq, 2);
    // What was sent to the group first did not come before this.
    const [wc] = await waitFor(member.cq);
    const grh = member.mr.grhAt(0);
    assertEquals([wc!.check().srcQp, `${grh.dgid}`], [sender.qp.qpNum, `${host}`]);
    member.qp.detachMcast(dgid);
  },
);

deviceTest("UdConn.join() has all members of this host receive, also the sender", async () => {
  const open = async (): Promise<UdConn> => await listenUd({ device: RXE, qkey: 0x1111_1111 });
  await using left = await open();
  await using right = await open();
  const group = await left.join("239.1.2.7");
  await right.join("239.1.2.7");
  await left.send(Uint8Array.of(7), group);
  for (const conn of [left, right]) {
    const [message, from] = await conn.receive(patience());
    assertEquals([message, from.qpNum], [Uint8Array.of(7), left.addr.qpNum]);
  }
  right.leave("239.1.2.7");
  await left.send(Uint8Array.of(8), group);
  assertEquals((await left.receive(patience()))[0], Uint8Array.of(8));
  await left.send(Uint8Array.of(9), right.addr);
  assertEquals((await right.receive(patience()))[0], Uint8Array.of(9));
});
