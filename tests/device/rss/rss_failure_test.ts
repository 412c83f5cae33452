// Each verb failing in the kernel: a typed error, nothing left behind, and the next attempt succeeds.
import { assertEquals, assertThrows } from "@std/assert";
import { stub } from "@std/testing/mock";
import { EOPNOTSUPP } from "../../../ffi/errno.ts";
import { verbs } from "../../../ffi/library.ts";
import {
  type Context,
  type NativeResource,
  type QpInitAttr,
  QpState,
  QpType,
  QueuePair,
  RwqIndirectionTable,
  WorkQueue,
  WqState,
} from "../../../mod.ts";
import {
  alive,
  assertFails,
  type Bench,
  calls,
  ETHERNET_PORT,
  failNext,
  forget,
  hashOverAll,
  openBench,
  openStub,
  stubTest,
} from "../stub.ts";

const ERRNOS = ["ENOMEM", "EINVAL", "EIO", "EAGAIN", "ENOSPC", "EOPNOTSUPP"];

/** One of each kind. */
interface Objects {
  readonly bench: Bench;
  readonly context: Context;
  readonly wq: WorkQueue;
  readonly table: RwqIndirectionTable;
  readonly qp: QueuePair;
}

function makeObjects(bench: Bench): Objects {
  const table = bench.newTable();
  const qp = new QueuePair(bench.pd, rssOver(table));
  return { bench, context: bench.context, wq: bench.workQueues[0]!, table, qp };
}

function rssOver(rwqIndTbl: RwqIndirectionTable): QpInitAttr {
  return { type: QpType.RAW_PACKET, rwqIndTbl, rxHashConf: hashOverAll() };
}

const MAKERS: readonly [
  stubVerb: string,
  verb: string,
  make: (objects: Objects) => NativeResource,
][] = [
  [
    "create_wq",
    "ibv_create_wq",
    ({ wq }) => new WorkQueue(wq.pd, { maxWr: 1, maxSge: 1, cq: wq.cq }),
  ],
  [
    "create_rwq_ind_table",
    "ibv_create_rwq_ind_table",
    ({ context, wq }) => new RwqIndirectionTable(context, [wq]),
  ],
  ["create_qp", "ibv_create_qp_ex", ({ qp, table }) => new QueuePair(qp.pd, rssOver(table))],
];

for (const [stubVerb, verb, make] of MAKERS) {
  stubTest(`${verb} leaves nothing behind when it fails`, () => {
    using bench = openBench();
    const objects = makeObjects(bench);
    const before = alive();
    for (const errno of ERRNOS) {
      failNext(stubVerb, errno);
      assertFails(() => make(objects), verb, errno);
      assertEquals(alive(), before);
    }
    make(objects).close();
    assertEquals(alive(), before);
  });
}

const CHANGES: readonly [
  stubVerb: string,
  verb: string,
  change: (objects: Objects) => void,
  state: (objects: Objects) => number,
][] = [
  [
    "modify_wq",
    "ibv_modify_wq",
    ({ wq }) => wq.modify({ wqState: WqState.RDY }),
    ({ wq }) => wq.state,
  ],
  [
    "modify_qp",
    "ibv_modify_qp",
    ({ qp }) => qp.modify({ qpState: QpState.INIT, portNum: ETHERNET_PORT }),
    ({ qp }) => qp.state,
  ],
];

for (const [stubVerb, verb, change, state] of CHANGES) {
  stubTest(`${verb} leaves the state as it was when it fails`, () => {
    using bench = openBench();
    const objects = makeObjects(bench);
    for (const errno of ERRNOS) {
      failNext(stubVerb, errno);
      assertFails(() => change(objects), verb, errno);
      assertEquals(state(objects), 0);
    }
    change(objects);
    assertEquals(state(objects), 1);
  });
}

const DESTROYERS: readonly [
  stubVerb: string,
  verb: string,
  object: (objects: Objects) => NativeResource,
][] = [
  ["destroy_qp", "ibv_destroy_qp", ({ qp }) => qp],
  ["destroy_rwq_ind_table", "ibv_destroy_rwq_ind_table", ({ table }) => table],
  ["destroy_wq", "ibv_destroy_wq", ({ wq }) => wq],
];

for (const [stubVerb, verb, pick] of DESTROYERS) {
  stubTest(`${verb} can be tried again when it fails`, () => {
    using bench = openBench();
    const object = pick(makeObjects(bench));
    for (const errno of ["EBUSY", "EIO"]) {
      forget();
      failNext(stubVerb, errno);
      assertFails(() => object.close(), verb, errno);
      assertEquals(calls(stubVerb).length, 1);
      assertEquals(object.disposed, true);
      assertThrows(() => object.unsafeHandle, TypeError, "it is disposed");
    }
    object.close();
  });

  stubTest(`Context.close() can be tried again when ${verb} fails`, () => {
    using bench = openBench();
    const objects = makeObjects(bench);
    const { context } = objects;
    const object = pick(objects);
    for (const errno of ["EBUSY", "EIO"]) {
      failNext(stubVerb, errno);
      assertFails(() => context.close(), verb, errno);
      assertEquals([object.disposed, alive().contexts], [true, 1]);
    }
    context.close();
    assertEquals(Object.values(alive()).every((count) => count === 0), true);
  });
}

stubTest("CompletionQueue.poll() refuses more completions than it asked for", () => {
  using bench = openStub();
  // What libibverbs returns if a provider has no poll_cq.
  using _ = stub(verbs(), "ibv_poll_cq", () => EOPNOTSUPP);
  assertFails(() => bench.cq.poll(16), "ibv_poll_cq", "EOPNOTSUPP");
});
