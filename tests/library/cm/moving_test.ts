// Queue pairs that move on another thread, and connections that end meanwhile.
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { CmError, CmEventType, type CmId } from "../../../cm.ts";
import { QpState, type QueuePair, VerbsError } from "../../../mod.ts";
import { test } from "./fake.ts";
import { until } from "../../until.ts";
import { held } from "../held.ts";

const EINVAL = 22;

/** The two ends of a connection: the state in which a queue pair moves, and the step. */
const STEPS: readonly [
  name: string,
  state: string,
  call: string,
  step: (id: CmId, qp: QueuePair, signal?: AbortSignal) => Promise<void>,
][] = [
  ["accept", "REQUESTED", "accept", (id, qp, signal) => id.accept(qp, {}, { signal })],
  ["establish", "RESPONDED", "establish", (id, _qp, signal) => id.establish({ signal })],
];

for (const [name, state, call, step] of STEPS) {
  test(`CmId.${name}() looks for the peer on another thread, and goes on when it is found`, async (bed) => {
    const id = await bed.net.idIn(state);
    const qp = bed.net.newQp();
    using calls = held();
    bed.net.takeCalls();
    const stepped = step(id, qp);
    assertEquals([calls.started(), bed.net.takeCalls().includes(call)], [1, false]);
    assertThrows(() => id.reject(), TypeError);
    await assertRejects(() => id.establish(), TypeError);
    await assertRejects(() => step(id, qp), TypeError, "is moving the queue pair");
    calls.go();
    await until(call, () => bed.net.takeCalls().includes(call));
    if (name === "accept") bed.net.push(id, CmEventType.ESTABLISHED);
    await stepped;
    assertEquals(id.state, "ESTABLISHED");
  });

  test(`CmId.${name}() ends when the id is closed while the kernel looks for the peer`, async (bed) => {
    const id = await bed.net.idIn(state);
    const qp = bed.net.newQp();
    using calls = held();
    const stepped = step(id, qp);
    id.close();
    qp.close();
    await assertRejects(() => stepped, TypeError, "disposed");
    calls.go();
    await calls.ended();
  });

  test(`CmId.${name}() says by which event the connection has ended`, async (bed) => {
    const id = await bed.net.idIn(state);
    const qp = bed.net.newQp();
    bed.net.fail("rdma_init_qp_attr", EINVAL);
    const stepped = step(id, qp);
    await new Promise((done) => setTimeout(done, 1));
    bed.net.push(id, CmEventType.REJECTED, 28);
    const error = await assertRejects(
      () => stepped,
      CmError,
      "the peer's program does not want it",
    );
    assertEquals([error.event, error.status, id.state], [CmEventType.REJECTED, 28, "FAILED"]);
    await assertRejects(() => id.disconnected(), CmError, "REJECTED (28");
  });

  test(`CmId.${name}() goes no further when the connection ends while the queue pair moves`, async (bed) => {
    const id = await bed.net.idIn(state);
    const qp = bed.net.newQp();
    using calls = held();
    const stepped = step(id, qp);
    const ended = id.disconnected();
    bed.net.push(id, CmEventType.REJECTED, 28);
    await assertRejects(() => ended, CmError);
    bed.net.takeCalls();
    calls.go();
    await assertRejects(() => stepped, CmError, "does not want it");
    assert(!bed.net.takeCalls().includes(call));
  });

  test(`CmId.${name}() reports the error of the system when no event says why`, async (bed) => {
    const id = await bed.net.idIn(state);
    const signal = AbortSignal.timeout(20);
    bed.net.fail("rdma_init_qp_attr", EINVAL);
    await assertRejects(() => step(id, bed.net.newQp(), signal), VerbsError, "rdma_init_qp_attr");
  });
}

/** What asks the system about the connection of a request. */
const OF_REQUESTS: readonly [name: string, step: (id: CmId, qp: QueuePair) => unknown][] = [
  ["initQpAttr", (id) => id.initQpAttr(QpState.INIT)],
  ["prepare", (id, qp) => id.prepare(qp)],
  ["accept", (id, qp) => id.accept(qp)],
  ["accept of a number", (id, { qpNum }) => id.accept(qpNum)],
  ["reject", (id) => id.reject()],
];

for (const [name, step] of OF_REQUESTS) {
  test(`CmId tells in ${name} that the peer has taken back its request`, async (bed) => {
    const id = await bed.net.idIn("REQUESTED");
    const qp = bed.net.newQp();
    bed.net.takeBack(id);
    const stepped = async (): Promise<void> => void await step(id, qp);
    const words = "EINVAL (Invalid argument). The peer has taken back its request, or has gone";
    await assertRejects(stepped, VerbsError, words);
  });
}

test("CmId.disconnected() of a request rejects when the peer gives up", async (bed) => {
  const id = await bed.net.idIn("REQUESTED");
  const ended = id.disconnected();
  bed.net.push(id, CmEventType.REJECTED, 4);
  await assertRejects(() => ended, CmError, "waited too long");
});
