// Queue pairs that the program moves itself, as rdma-core's tests of external queue pairs do; and what peers may do.
import { assertEquals } from "@std/assert";
import type { CmId } from "../../../cm.ts";
import {
  AccessFlags,
  QpAttrMask,
  QpState,
  QpType,
  type QueuePair,
  WrOpcode,
} from "../../../mod.ts";
import { deviceTest, waitFor } from "../setup.ts";
import { bytes, CmDevice } from "./cm_device.ts";

const { INIT, RTR, RTS } = QpState;
const { LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ } = AccessFlags;

function move(qp: QueuePair, id: CmId): void {
  for (const qpState of [INIT, RTR, RTS]) qp.modify(id.initQpAttr(qpState));
}

for (const [name, given] of [["number", true], ["object", false]] as const) {
  deviceTest(`Queue pairs that the program moves itself are connected by ${name}`, async () => {
    using bed = new CmDevice();
    const listener = bed.listener();
    const client = await bed.routed(listener);
    const [left, right] = [bed.newQp(QpType.RC), bed.newQp(QpType.RC)];
    const connected = client.connect(given ? left.qpNum : left);
    const { id: server } = await bed.request();
    move(right, server);
    const mr = bed.newMr();
    right.postRecv({ sge: mr.sge(64, 64) });
    const accepted = server.accept(given ? right.qpNum : right);
    await connected;
    // connect() has moved the queue pair to INIT if it has it.
    move(left, client);
    await client.establish();
    await accepted;
    assertEquals([left.state, right.state], [RTS, RTS]);
    mr.bytes.set(bytes("hello"));
    left.postSend({ sge: mr.sge(0, 5) });
    for (const wc of await waitFor(bed.cq, 2)) wc.check();
    assertEquals(mr.sge(64, 5).bytes.slice(), bytes("hello"));
    const ended = server.disconnected();
    assertEquals(await client.disconnect({ timeout: 10_000 }), true);
    await ended;
    assertEquals(left.state, given ? RTS : QpState.ERR);
  });
}

function rightsOf(qp: QueuePair): number {
  return qp.query(QpAttrMask.ACCESS_FLAGS).attr.qpAccessFlags!;
}

/** What the program does to its queue pair before a step of the connection moves it on. */
const MOVES: Record<string, (qp: QueuePair, id: CmId) => void> = {
  nothing: () => {},
  "prepare()": (qp, id) => id.prepare(qp),
  "to INIT": (qp, id) => qp.modify(id.initQpAttr(INIT)),
  "to INIT, rights of its own": (qp, id) => {
    qp.modify({ ...id.initQpAttr(INIT), qpAccessFlags: LOCAL_WRITE });
  },
  "to RTR": (qp, id) => [INIT, RTR].forEach((state) => qp.modify(id.initQpAttr(state))),
  "to RTS": move,
  "to RTS, rights of its own": (qp, id) => {
    qp.modify({ ...id.initQpAttr(INIT), qpAccessFlags: LOCAL_WRITE });
    for (const qpState of [RTR, RTS]) qp.modify(id.initQpAttr(qpState));
  },
};

deviceTest(
  "A peer gets the rights that the program or C gives, whoever moves the queue pair",
  async () => {
    using bed = new CmDevice();
    const listener = bed.listener();
    const all = REMOTE_WRITE | REMOTE_READ | AccessFlags.REMOTE_ATOMIC;
    for (const [moved, prepare] of Object.entries(MOVES)) {
      const client = await bed.routed(listener);
      const [left, right] = [bed.newQp(QpType.RC), bed.newQp(QpType.RC)];
      const connected = client.connect(left);
      const { id: server } = await bed.request();
      prepare(right, server);
      const accepted = server.accept(right);
      await connected;
      prepare(left, client);
      await client.establish();
      await accepted;
      const expected = moved.endsWith("own") ? 0 : all;
      const rights = [left, right].map((qp) => rightsOf(qp) & all);
      assertEquals(rights, [expected, expected], moved);
      server.close();
      client.close();
      for (const qp of [left, right]) qp.close();
    }
  },
);

deviceTest(
  "A peer cannot write to a queue pair whose rights the program has narrowed",
  async () => {
    using bed = new CmDevice();
    const listener = bed.listener();
    for (const narrow of [false, true]) {
      const client = await bed.routed(listener);
      const [left, right] = [bed.newQp(QpType.RC), bed.newQp(QpType.RC)];
      if (narrow) left.modify({ ...client.initQpAttr(INIT), qpAccessFlags: LOCAL_WRITE });
      const connected = client.connect(left);
      const { id: server } = await bed.request();
      const accepted = server.accept(right);
      await connected;
      await client.establish();
      await accepted;
      const rights = rightsOf(left);
      const all = REMOTE_WRITE | REMOTE_READ;
      assertEquals(rights & all, narrow ? 0 : all);
      const mr = bed.newMr();
      const remote = { remoteAddr: mr.addr, rkey: mr.rkey };
      right.postSend({ opcode: WrOpcode.RDMA_WRITE, sge: mr.sge(64, 8), ...remote });
      const [wc] = await waitFor(bed.cq);
      assertEquals(wc!.ok, !narrow);
      server.close();
      client.close();
      for (const qp of [left, right]) qp.close();
    }
  },
);
