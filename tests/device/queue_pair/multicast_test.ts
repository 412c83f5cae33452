// Multicast groups of UD queue pairs.
import { assertEquals, assertThrows } from "@std/assert";
import { AddressHandle, Gid, VerbsError } from "../../../mod.ts";
import { deviceTest, gidOf, PORT, QKEY, udPair, waitFor } from "../setup.ts";

/** The queue pair number of multicast. */
const MULTICAST_QPN = 0xff_ffff;

// Hosts are members of these groups without asking, so that what they send to them comes back.
for (const [family, group] of [["ipv4", "224.0.0.1"], ["link-local", "ff02::1"]] as const) {
  deviceTest(`A datagram to group ${group} reaches the queue pairs that joined it`, async () => {
    using pair = udPair();
    const { left, right, toRight, pd, context } = pair;
    const { gidIndex: sgidIndex } = gidOf(context, family);
    const dgid = Gid.parse(group);
    const ah = new AddressHandle(pd, { portNum: PORT, grh: { dgid, sgidIndex, hopLimit: 7 } });
    right.qp.attachMcast(dgid);
    for (const { qp, mr } of [left, right]) qp.postRecv({ sge: mr.sge(0, 64) });
    left.mr.sge(100, 4).bytes.set([1, 2, 3, 4]);
    const sge = left.mr.sge(100, 4);
    const request = { sge, ah, remoteQpn: MULTICAST_QPN, remoteQkey: QKEY };
    left.qp.postSend(request);
    (await waitFor(left.cq))[0]!.check();
    const [received] = await waitFor(right.cq);
    assertEquals(received!.check().byteLen, 44);
    assertEquals([...right.mr.sge(40, 4).bytes], [1, 2, 3, 4]);
    const grh = right.mr.grhAt(0);
    assertEquals(`${grh.dgid}`, `${dgid}`);
    assertEquals(family === "ipv4" ? grh.ipv4.ttl : grh.hopLimit, 7);
    assertEquals(left.cq.poll(), []);
    right.qp.detachMcast(dgid, 0);
    assertThrows(() => right.qp.detachMcast(dgid, 0), VerbsError, "leave multicast group");
    // A datagram to a member that is there arrives behind the one that nobody receives.
    right.qp.postRecv({ wrId: 9, sge: right.mr.sge(0, 64) });
    left.qp.postSend([request, { ...toRight, sge: left.mr.sge(100, 1) }]);
    for (const wc of await waitFor(left.cq, 2)) wc.check();
    const { wrId, byteLen } = (await waitFor(right.cq))[0]!.check();
    assertEquals({ wrId, byteLen }, { wrId: 9n, byteLen: 41 });
  });
}
