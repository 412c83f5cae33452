// Atomics that a peer or the device must refuse.
import { assertEquals, assertStrictEquals } from "@std/assert";
import { AccessFlags, QpState, type SendRequest, WcStatus, WrOpcode } from "../../../mod.ts";
import { connectedPair, deviceTest, type Pair, waitFor } from "../setup.ts";

const { REM_ACCESS_ERR, REM_INV_REQ_ERR, LOC_PROT_ERR } = WcStatus;

function add({ left, remote }: Pair): SendRequest {
  const opcode = WrOpcode.ATOMIC_FETCH_AND_ADD;
  return { opcode, sge: left.mr.slice(0, 8), compareAdd: 1, ...remote };
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
    const { addr, rkey } = pair.newMr(4096, access);
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
