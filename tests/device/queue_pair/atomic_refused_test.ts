// Atomics that a peer or the device must refuse, and messages without data.
import { assertEquals, assertStrictEquals } from "@std/assert";
import {
  AccessFlags,
  MemoryRegion,
  QpState,
  type SendRequest,
  WcStatus,
  WrOpcode,
} from "../../../mod.ts";
import { deviceTest, type Pair, waitFor } from "../setup.ts";
import { connectedPair } from "./rc.ts";

const { ATOMIC_FETCH_AND_ADD, RDMA_READ, RDMA_WRITE, SEND } = WrOpcode;
const { REM_ACCESS_ERR, REM_INV_REQ_ERR, LOC_PROT_ERR } = WcStatus;

function add({ left, right }: Pair): SendRequest {
  const peer = { remoteAddr: right.mr.addr, rkey: right.mr.rkey };
  return { opcode: ATOMIC_FETCH_AND_ADD, sge: left.mr.slice(0, 8), compareAdd: 1, ...peer };
}

/** What is wrong, and the statuses that say so. */
const REFUSED: readonly [string, (pair: Pair) => SendRequest, readonly WcStatus[]][] = [
  ["the rkey is of no region", (pair) => ({ ...add(pair), rkey: 0x7fff_ff00 }), [REM_ACCESS_ERR]],
  ["the lkey is of no region", (pair) => {
    const { addr, length } = pair.left.mr.slice(0, 8);
    return { ...add(pair), sge: { addr, length, lkey: 0x7fff_ff00 } };
  }, [LOC_PROT_ERR]],
  ["the region does not allow atomics", (pair) => {
    const access = AccessFlags.LOCAL_WRITE | AccessFlags.REMOTE_READ;
    const { addr, rkey } = new MemoryRegion(pair.pd, 4096, access);
    return { ...add(pair), remoteAddr: addr, rkey };
  }, [REM_ACCESS_ERR]],
  ["the queue pair does not allow atomics", (pair) => {
    pair.right.qp.modify({ qpAccessFlags: AccessFlags.REMOTE_READ });
    return add(pair);
  }, [REM_ACCESS_ERR, REM_INV_REQ_ERR]],
];

for (const [what, request, statuses] of REFUSED) {
  deviceTest(`An atomic fails when ${what}`, async () => {
    using pair = connectedPair();
    const { left, right } = pair;
    left.qp.postSend(request(pair));
    const [wc] = await waitFor(left.cq);
    assertStrictEquals(statuses.includes(wc!.status), true, `status ${wc!.status}`);
    // The peer has done what it was asked for when this side finds its own key wrong.
    const done = wc!.status === LOC_PROT_ERR ? 1 : 0;
    assertEquals(right.mr.bytes(0, 8), Uint8Array.of(done, 0, 0, 0, 0, 0, 0, 0));
    assertEquals(left.qp.query().attr.qpState, QpState.ERR);
  });
}

deviceTest("An RC queue pair sends, writes and reads nothing", async () => {
  using pair = connectedPair();
  const { left, right } = pair;
  right.qp.postRecv({ wrId: 1 });
  const peer = { remoteAddr: right.mr.addr, rkey: right.mr.rkey };
  left.qp.postSend([{ opcode: SEND }, { opcode: RDMA_WRITE, ...peer }, {
    opcode: RDMA_READ,
    ...peer,
  }]);
  for (const wc of await waitFor(left.cq, 3)) wc.check();
  const [received] = await waitFor(right.cq);
  assertEquals([received!.check().wrId, received!.byteLen], [1n, 0]);
});
