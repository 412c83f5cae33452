// Datagrams between two Elastic Fabric Adapters, which the stub stands in for, through the classes that all devices have.

import { assertEquals, assertThrows } from "@std/assert";
import { CompletionQueue, QpType, type QueuePair } from "../../../mod.ts";
import { assertFails, calls, failNext } from "../stub.ts";
import { waitFor } from "../setup.ts";
import { type Adapter, efaTest, HEADROOM, QKEY, STRANGER } from "./adapters.ts";

/** Posts a receive of 64 bytes; its place is its number. */
function receive({ mr }: Adapter, qp: QueuePair, place: number): void {
  qp.postRecv({ wrId: BigInt(place), sge: mr.sge(place, 64) });
}

efaTest(
  "A datagram has no GRH, and its slid is an address handle's number",
  async ({ left, right }) => {
    const [from, to] = [left.ud(), right.ud()];
    const where = { ah: left.to(right), remoteQpn: to.qpNum, remoteQkey: QKEY };
    left.mr.sge(0, 5).bytes.set([1, 2, 3, 4, 5]);
    for (const place of [1024, 2048]) receive(right, to, place);
    from.postSend({ ...where, sge: left.mr.sge(0, 5) });
    // A handle to another one comes first, so that the number of the second is not 0.
    using _ = right.to(right);
    using _second = right.to(left);
    from.postSend({ ...where, sge: left.mr.sge(0, 5), inline: true });
    const numbers = calls("create_ah").map(({ ah }) => ah);
    const received = await waitFor(right.cq, 2);
    assertEquals(
      received.map(({ slid, srcQp, wcFlags, byteLen }) => ({ slid, srcQp, wcFlags, byteLen })),
      [STRANGER, numbers[2]].map((slid) => ({ slid, srcQp: from.qpNum, wcFlags: 0, byteLen: 45 })),
    );
    assertEquals((await waitFor(left.cq, 2)).map(({ status }) => status), [0, 0]);
    for (const place of [1024, 2048]) {
      assertEquals(
        right.mr.sge(place, HEADROOM + 5).bytes.slice(HEADROOM),
        left.mr.sge(0, 5).bytes.slice(),
      );
      assertEquals(right.mr.sge(place, HEADROOM).bytes.every((byte) => byte === 0), true);
    }
  },
);

efaTest("What an adapter lacks is refused", ({ left }) => {
  // libefa itself would write beside its memory.
  using silent = new CompletionQueue(left.context, { cqe: 4, channel: null });
  assertThrows(() => silent.reqNotify(), TypeError, "it has no channel for its events");
  assertFails(() => left.newQp(QpType.RC), "ibv_create_qp", "EOPNOTSUPP");
  assertFails(() => left.newQp(QpType.UC), "ibv_create_qp", "EOPNOTSUPP");
  assertFails(() => left.newMr(64, 1 << 4), "ibv_reg_mr", "EOPNOTSUPP");
});

efaTest("An adapter's calls fail as they are told to, and nothing stays", ({ left }) => {
  const cases = [
    ["create_cq", "ibv_create_cq", () => left.newCq()],
    ["create_qp", "ibv_create_qp", () => left.ud()],
    ["reg_mr", "ibv_reg_mr", () => left.newMr(64, 1)],
    ["mmap", "ibv_create_qp", () => left.ud()],
  ] as const;
  for (const [call, verb, make] of cases) {
    void left.cq;
    failNext(call, "ENOMEM");
    assertFails(make, verb, "ENOMEM");
    make().close();
  }
});
