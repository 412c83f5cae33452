// Connections by address between two ids of one process.
import { assertEquals, assertRejects } from "@std/assert";
import { AddrInfoFlags, CmError, CmEventType, CmId, getAddrInfo, PortSpace } from "../../../cm.ts";
import { AddressHandle, QpState, QpType, VerbsError, WrOpcode } from "../../../mod.ts";
import { repetitions } from "../../rare.ts";
import { deviceTest, makeEnd, RXE, until, waitFor } from "../setup.ts";
import { bytes, CmDevice, HOSTS } from "./cm_device.ts";

for (const [family, hostname] of Object.entries(HOSTS)) {
  deviceTest(`CmId connects, and ends the connection, over ${family}`, async () => {
    using bed = new CmDevice();
    const listener = bed.listener(undefined, hostname);
    assertEquals([listener.state, listener.device?.name], ["LISTENING", RXE]);
    const client = await bed.routed(listener);
    assertEquals(client.state, "ROUTE_RESOLVED");
    assertEquals(client.peerAddr, { hostname, port: listener.srcPort });
    assertEquals([client.dstPort, client.portNum], [listener.srcPort, 1]);
    const [left, right] = [bed.newQp(QpType.RC), bed.newQp(QpType.RC)];
    const answered = client.connect(left, { privateData: bytes("ping"), retryCount: 3 });
    const { id: server, listenId, conn } = await bed.request();
    assertEquals([listenId, server.state], [listener, "REQUESTED"]);
    assertEquals(conn!.privateData, Uint8Array.of(...bytes("ping"), ...new Uint8Array(52)));
    assertEquals([conn!.qpNum, conn!.retryCount], [left.qpNum, 3]);
    assertEquals(server.peerAddr, client.localAddr);
    const accepted = server.accept(right, { privateData: bytes("pong") });
    const { event, conn: reply } = await answered;
    assertEquals(event, CmEventType.CONNECT_RESPONSE);
    assertEquals(reply!.privateData.subarray(0, 5), Uint8Array.of(...bytes("pong"), 0));
    assertEquals([client.state, left.state], ["RESPONDED", QpState.INIT]);
    await client.establish();
    await accepted;
    assertEquals([client.state, server.state], ["ESTABLISHED", "ESTABLISHED"]);
    assertEquals([left.state, right.state], [QpState.RTS, QpState.RTS]);
    const mr = bed.newMr();
    mr.bytes.set(bytes("hello"));
    right.postRecv({ sge: mr.sge(64, 64) });
    left.postSend({ sge: mr.sge(0, 5) });
    const completions = bed.cq.completions();
    for (let i = 0; i < 2; i++) (await completions.next()).value!.check();
    await completions.return();
    assertEquals(mr.sge(64, 5).bytes.slice(), bytes("hello"));
    for (const [offset, qp] of [[128, left], [192, right]] as const) {
      const remote = { remoteAddr: mr.addr, rkey: mr.rkey };
      qp.postSend({ opcode: WrOpcode.RDMA_READ, sge: mr.sge(offset, 5), ...remote });
      (await waitFor(bed.cq))[0]!.check();
      assertEquals(mr.sge(offset, 5).bytes.slice(), bytes("hello"));
    }
    const ended = server.disconnected();
    assertEquals(await client.disconnect({ timeout: 10_000 }), true);
    await ended;
    assertEquals([client.state, server.state], ["DISCONNECTED", "DISCONNECTED"]);
    assertEquals([left.state, right.state], [QpState.ERR, QpState.ERR]);
  });
}

deviceTest(
  "A request to a port where nobody listens is rejected, and the reason is named",
  async () => {
    using bed = new CmDevice();
    const to = { hostname: HOSTS.IPv4, port: 17_999 };
    const [id, other] = [await bed.routed(to), await bed.routed(to, PortSpace.UDP)];
    const qp = bed.newQp(QpType.RC);
    const words = "nobody listens on this port";
    const error = await assertRejects(() => id.connect(qp), CmError, words);
    assertEquals([error.status, id.state, qp.state], [8, "FAILED", QpState.ERR]);
    await assertRejects(() => other.connect(bed.newQp(QpType.UD)), CmError, words);
  },
);

deviceTest("Who answers a peer that has taken back its request is told so", async () => {
  using bed = new CmDevice();
  const answers: readonly ((id: CmId) => unknown)[] = [
    (id) => id.accept(bed.newQp(QpType.RC)),
    (id) => id.reject(),
  ];
  for (const answer of answers) {
    const client = await bed.routed(bed.listener());
    const asked = assertRejects(() => client.connect(bed.newQp(QpType.RC)), TypeError, "disposed");
    const { id } = await bed.request();
    client.close();
    await asked;
    await until("the request is taken back", () => isUnknown(id));
    const words = "EINVAL (Invalid argument). The peer has taken back its request, or has gone";
    await assertRejects(async () => await answer(id), VerbsError, words);
  }
});

function isUnknown(id: CmId): boolean {
  try {
    id.initQpAttr(QpState.INIT);
    return false;
  } catch {
    return true;
  }
}

deviceTest(
  "A datagram reaches the peer by what the answer tells, and a group by what joining gives",
  async () => {
    using bed = new CmDevice();
    const id = await bed.routed(bed.listener(PortSpace.UDP), PortSpace.UDP);
    const [left, right] = [makeEnd(bed.pd, QpType.UD), makeEnd(bed.pd, QpType.UD)];
    const answered = id.connect(left.qp);
    const { id: server } = await bed.request();
    await server.accept(right.qp);
    const { ud } = await answered;
    assertEquals(ud!.qpNum, right.qp.qpNum);
    const member = new CmId(bed.channel, PortSpace.UDP);
    member.bindAddr({ hostname: HOSTS.IPv4, port: 0 });
    const address = "239.1.2.3";
    const group = await member.joinMulticast(address);
    assertEquals(group.qpNum, 0xff_ffff);
    right.qp.attachMcast(group.ahAttr.grh.dgid);
    for (const { ahAttr, qpNum, qkey } of [ud!, group]) {
      using ah = new AddressHandle(bed.pd, ahAttr);
      right.qp.postRecv({ sge: right.mr.sge(0, 1024) });
      left.qp.postSend({ sge: left.mr.sge(0, 8), ah, remoteQpn: qpNum, remoteQkey: qkey });
      for (const { cq } of [left, right]) (await waitFor(cq))[0]!.check();
    }
    right.qp.detachMcast(group.ahAttr.grh.dgid);
    member.leaveMulticast(address);
    using other = new CmId(bed.channel, PortSpace.UDP);
    other.bindAddr({ hostname: HOSTS.IPv6, port: 0 });
    await assertRejects(
      () => other.joinMulticast("ff0e::1:3"),
      VerbsError,
      "Linux joins only IPv4 groups over RoCE",
    );
    const error = await assertRejects(() => id.disconnect(), TypeError, "is for datagrams");
    assertEquals(error.name, "TypeError");
  },
);

deviceTest("getAddrInfo() finds addresses, and says which names have none", async () => {
  const [info] = await getAddrInfo(HOSTS.IPv6, "7471");
  assertEquals(info!.dstAddr, { hostname: HOSTS.IPv6, port: 7471 });
  const numeric = { flags: AddrInfoFlags.NUMERICHOST };
  await assertRejects(() => getAddrInfo("nobody", "1", numeric), CmError, "is not known");
});

const ROUNDS = repetitions(100, 200);

/** Numbers below 1 that follow from a seed. */
function* numbers(seed: number): Generator<number, never> {
  while (true) {
    seed = Math.imul(seed ^ seed >>> 15, 0x2c1b3c6d) + 0x9e3779b9 | 0;
    yield (seed >>> 0) / 2 ** 32;
  }
}

deviceTest("Ids that are closed at any time, in any order, leave nothing behind", async () => {
  using bed = new CmDevice();
  const random = numbers(21);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random.next().value * list.length)]!;
  const ignore = (): void => {};
  for (let round = 0; round < ROUNDS; round++) {
    const listener = bed.listener();
    const client = new CmId(bed.channel);
    const steps: (() => Promise<unknown>)[] = [
      () => client.resolveAddr(listener.localAddr!),
      () => client.resolveRoute(),
      () => client.connect(bed.newQp(QpType.RC)),
    ];
    const stop = pick([1, 2, 3, 4, 5, 6]);
    for (const step of steps.slice(0, Math.min(stop, 2))) await step();
    const objects = [listener, client];
    if (stop > 2) {
      const connected = steps[2]!();
      connected.catch(ignore);
      if (stop > 3) {
        const { id } = await bed.request();
        objects.push(id);
        if (stop > 4) id.accept(bed.newQp(QpType.RC)).catch(ignore);
        if (stop > 5) await connected.then(() => client.establish());
      }
    }
    while (objects.length > 0) {
      const [one] = objects.splice(Math.floor(random.next().value * objects.length), 1);
      const how = pick(["close", "close", "disconnect", "abort"]);
      if (how === "disconnect") one!.disconnect({ timeout: 1 }).catch(ignore);
      if (how === "abort") one!.disconnected({ signal: AbortSignal.abort() }).catch(ignore);
      one!.close();
    }
  }
});
