// Modifications on another thread: the kernel may look for a peer there for a second.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { assertSpyCalls, spy } from "@std/testing/mock";
import { nonblocking } from "../../../ffi/library.ts";
import {
  LinkLayer,
  type QpAddress,
  QpState,
  QpType,
  type QueuePair,
  VerbsError,
} from "../../../mod.ts";
import { RecorderObjects } from "../../provider/objects.ts";
import type { RecordedStruct } from "../../provider/records.ts";
import { held } from "../held.ts";

const { RC, UC, UD } = QpType;

const PEER: QpAddress = {
  transport: "RC",
  qpNum: 7,
  psn: 5,
  lid: 0,
  gid: "::ffff:10.0.0.2",
  mtu: 1024,
  rdAtomic: 1,
  qkey: null,
};

class Bed extends RecorderObjects {
  constructor() {
    super();
    recorder.answer("ibv_query_port", { link_layer: LinkLayer.ETHERNET });
  }

  /** A queue pair in state INIT. */
  ready(type: QpType = RC): QueuePair {
    const qp = this.qp(type);
    qp.init({ portNum: 1, gidIndex: 1, psn: 9 });
    recorder.take();
    return qp;
  }
}

function test(title: string, body: (bed: Bed) => Promise<void>): void {
  Deno.test(title, async () => {
    using bed = new Bed();
    await body(bed);
  });
}

/** What each modification since the last look has set. */
function modifications(): unknown[] {
  return recorder.takeOf("ibv_modify_qp")
    .map(({ args }) => [(args.attr as RecordedStruct).fields, args.attr_mask]);
}

for (const [name, type] of [["Rc", RC], ["Uc", UC]] as const) {
  test(`QueuePair.activate${name}Async() sets what activate${name}() sets, and looks for the peer on another thread`, async (bed) => {
    const peer = { ...PEER, transport: name.toUpperCase() as "RC" };
    bed.ready(type)[`activate${name}`](peer);
    const expected = modifications();
    using later = spy(nonblocking(), "ibv_modify_qp");
    const qp = bed.ready(type);
    await qp[`activate${name}Async`](peer);
    assertEquals(modifications(), expected);
    assertSpyCalls(later, 1);
    assertEquals(qp.state, QpState.RTS);
  });
}

test("QueuePair.modifyAsync() says why the device refuses, in the words of modify()", async (bed) => {
  const qp = bed.ready();
  recorder.fail("ibv_modify_qp", "ETIMEDOUT");
  const error = await assertRejects(() => qp.activateRcAsync(PEER), VerbsError);
  assertEquals([error.verb, error.code], ["ibv_modify_qp", "ETIMEDOUT"]);
  assertStringIncludes(error.message, "link address was not resolved in time");
  assertEquals(qp.state, QpState.INIT);
});

test("QueuePair.modifyAsync() checks everything before it starts", async (bed) => {
  const qp = bed.ready();
  using later = spy(nonblocking(), "ibv_modify_qp");
  await assertRejects(() => qp.modifyAsync({}), TypeError, "no attribute is given");
  const wrong = [{ signal: 1 as never }, { untrusted: 1 as never }, { other: 1 } as never];
  for (const options of wrong) {
    await assertRejects(() => qp.modifyAsync({ minRnrTimer: 1 }, options), TypeError);
  }
  const signal = AbortSignal.abort(new Error("enough"));
  await assertRejects(() => qp.modifyAsync({ minRnrTimer: 1 }, { signal }), Error, "enough");
  await assertRejects(() => qp.activateRcAsync(PEER, { timeout: 32 }), RangeError);
  await assertRejects(() => bed.qp(UD).activateRcAsync(PEER), TypeError, "activateRcAsync()");
  assertSpyCalls(later, 0);
  assertEquals(recorder.takeOf("ibv_modify_qp"), []);
});

test("QueuePair.modifyAsync() keeps a queue pair that is closed meanwhile until the call ends", async (bed) => {
  const qp = bed.ready();
  using calls = held();
  const modified = qp.activateRcAsync(PEER);
  bed.context.close();
  assertEquals([recorder.live("qp"), recorder.live("context")], [1, 1]);
  calls.go();
  await assertRejects(() => modified, TypeError, "was disposed");
  assertEquals(recorder.live(), 0);
});

test("QueuePair.modifyAsync() ends its wait when its signal aborts, and the modification goes on", async (bed) => {
  const qp = bed.ready();
  using calls = held();
  const controller = new AbortController();
  const modified = qp.activateRcAsync(PEER, {}, { signal: controller.signal });
  controller.abort(new Error("enough"));
  await assertRejects(() => modified, Error, "enough");
  calls.go();
  await calls.ended();
  assertEquals(qp.state, QpState.RTR);
});

test("QueuePair.modifyAsync() resets at once: later sends are not those that the reset ends", async (bed) => {
  const qp = bed.ready();
  using calls = held();
  const reset = qp.modifyAsync({ qpState: QpState.RESET });
  assertEquals([qp.state, calls.started()], [QpState.RESET, 0]);
  await reset;
});
