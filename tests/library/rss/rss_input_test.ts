// Input of work queues, tables and their queue pairs that is wrong, or changes while it is read.
import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  CompletionQueue,
  Context,
  microsoftRssKey,
  ProtectionDomain,
  type QpInitAttr,
  QpType,
  QueuePair,
  RwqIndirectionTable,
  RxHash,
  WorkQueue,
  type WqAttr,
  type WqInitAttr,
  WqState,
  type WqType,
} from "../../../mod.ts";
import * as recorder from "../../provider/recorder.ts";

const { RDY, RESET } = WqState;
const GONE = "it is disposed";

/** Two work queues with all that they are made from. */
class Bench {
  readonly context = Context.open("recorder0");
  readonly pd = new ProtectionDomain(this.context);
  readonly cq = new CompletionQueue(this.context, { cqe: 8, channel: null });
  readonly wq = this.newWq();
  readonly second = this.newWq();

  newWq(init: Partial<WqInitAttr> = {}): WorkQueue {
    return new WorkQueue(this.pd, { maxWr: 1, maxSge: 1, cq: this.cq, ...init });
  }

  newTable(workQueues: readonly WorkQueue[] = [this.wq, this.second]): RwqIndirectionTable {
    return new RwqIndirectionTable(this.context, workQueues);
  }

  newQp(more: Partial<QpInitAttr>): QueuePair {
    const rxHashConf = new RxHash({ rxHashKey: microsoftRssKey(), rxHashFieldsMask: 0xff });
    const init = { type: QpType.RAW_PACKET, rwqIndTbl: this.newTable(), rxHashConf };
    return new QueuePair(this.pd, { ...init, ...more });
  }
}

/** A wrong use, and how it is refused. The other bench is of another context. */
type Refused = readonly [
  use: (bench: Bench, other: Bench) => unknown,
  type: ErrorConstructor,
  message: string,
];

/** An object, or a list, that runs some code whenever a property is read. */
function reading<T extends object>(target: T, property: string, code: () => void): T {
  return new Proxy(target, {
    get(target, name, receiver): unknown {
      if (name === property) code();
      return Reflect.get(target, name, receiver);
    },
  });
}

const WORK_QUEUES: readonly Refused[] = [
  [({ cq }) => new WorkQueue(cq as never, { maxWr: 1, maxSge: 1, cq }), TypeError, "ProtectionDom"],
  [({ pd }) => new WorkQueue(pd, null as never), TypeError, "work queue attributes null"],
  [(bench) => (bench.cq.close(), bench.newWq()), TypeError, `completion queue: ${GONE}`],
  [(bench) => (bench.pd.close(), bench.newWq()), TypeError, GONE],
  ...([
    [{ maxWr: -1 }, RangeError, "maxWr"],
    [{ maxSge: 2 ** 32 }, RangeError, "maxSge"],
    [{ createFlags: 2 ** 32 }, RangeError, "createFlags"],
    [{ maxWr: 1.5 }, TypeError, "maxWr"],
    [{ maxWr: undefined as never }, TypeError, "maxWr is missing"],
    [{ wqType: 5 as WqType }, RangeError, "Cannot use wqType 5: it is none of 0 (RQ)"],
    [{ cq: {} as never }, TypeError, "Cannot use cq an object: it is not a Completion"],
    [{ maxWR: 7 } as never, TypeError, 'there is no attribute "maxWR"'],
  ] as const).map(([init, type, message]): Refused => [
    (bench) => bench.newWq(init),
    type,
    message,
  ]),
  ...["maxWr", "cq"].flatMap((name) =>
    (["pd", "cq"] as const).map((part): Refused => [
      (bench) => {
        const { pd, cq } = bench;
        return new WorkQueue(
          pd,
          reading({ maxWr: 1, maxSge: 1, cq }, name, () => bench[part].close()),
        );
      },
      TypeError,
      GONE,
    ])
  ),
];

const CHANGES: readonly Refused[] = ([
  // The kernel would keep the queue locked for ever.
  ...[3, -1, 2 ** 32, NaN].flatMap((state) =>
    ["wqState", "currWqState"].map((name) =>
      [{ [name]: state }, RangeError, `Cannot use ${name} ${state}`] as const
    )
  ),
  [{ wqState: "RDY" }, TypeError, "it is none of 0 (RESET), 1 (RDY), 2 (ERR)"],
  [{ wqState: RDY, state: RDY }, TypeError, 'there is no attribute "state"'],
] as const).map(([attr, type, message]): Refused => [
  ({ wq }) => wq.modify(attr as WqAttr),
  type,
  message,
]).concat([
  [
    ({ wq }) =>
      wq.modify(reading({ wqState: RDY, currWqState: RESET }, "wqState", () => wq.close())),
    TypeError,
    `work queue: ${GONE}`,
  ],
  [({ wq }) => (wq.close(), wq.state), TypeError, GONE],
  [({ wq }) => (wq.close(), wq.postRecv({})), TypeError, GONE],
]);

const TABLES: readonly Refused[] = [
  ...[127, 16384].map((size): Refused => [
    (bench) => bench.newTable(new Array(size).fill(bench.wq)),
    RangeError,
    `workQueues has ${size} entries, and a power of two up to 8192 is needed`,
  ]),
  [(bench) => (bench.second.close(), bench.newTable()), TypeError, `queue: ${GONE}`],
  [(bench) => (bench.context.close(), bench.newTable()), TypeError, `context: ${GONE}`],
  [(bench) => bench.newTable([bench.wq, {} as WorkQueue]), TypeError, "workQueues[1]"],
  [(bench) => bench.newTable(null as never), TypeError, "workQueues null"],
  [(bench) => bench.newTable({ length: 1 } as never), TypeError, "it is not an array"],
  [({ pd, wq }) => new RwqIndirectionTable(pd as never, [wq]), TypeError, "it is not a Context"],
  [
    (bench) => bench.newTable(reading([bench.wq, bench.second], "0", () => bench.context.close())),
    TypeError,
    GONE,
  ],
];

const QUEUE_PAIRS: readonly Refused[] = [
  ...([({ cq }) => ({ recvCq: cq }), () => ({ cap: { maxRecvWr: 1 } })] as ((
    bench: Bench,
  ) => Partial<QpInitAttr>)[]).map((wrong): Refused => [
    (bench) => bench.newQp(wrong(bench)),
    TypeError,
    "with an indirection table it has no receive queue of its own",
  ]),
  [(bench) => bench.newQp({ cap: { maxSendWr: 1 } }), TypeError, "its send queue takes sendCq"],
  [(bench) => bench.newQp({ rwqIndTbl: undefined as never }), TypeError, "it takes sendCq"],
  [
    (bench) => {
      const rwqIndTbl = bench.newTable();
      rwqIndTbl.close();
      return bench.newQp({ rwqIndTbl });
    },
    TypeError,
    `indirection table: ${GONE}`,
  ],
  [
    (bench, other) => bench.newQp({ rwqIndTbl: other.newTable() }),
    TypeError,
    "rwqIndTbl belongs to another context",
  ],
];

for (const [what, refused] of Object.entries({ WORK_QUEUES, CHANGES, TABLES, QUEUE_PAIRS })) {
  Deno.test(`Of the wrong uses in ${what}, each is refused before native code is reached`, () => {
    for (const [use, type, message] of refused) {
      recorder.reset();
      const [bench, other] = [new Bench(), new Bench()];
      recorder.take();
      assertThrows(() => use(bench, other), type, message);
      const reached = recorder.takeOf("ibv_create_wq", "ibv_modify_wq", "ibv_create_qp_ex");
      assertEquals(reached, [], `${use}`);
      if (what === "TABLES") assertEquals(recorder.live("table"), 0, `${use}`);
      for (const { context } of [bench, other]) context.close();
      assertEquals([recorder.violations(), recorder.live()], [[], 0]);
    }
  });
}

Deno.test("new WorkQueue() reads its completion queue once", () => {
  recorder.reset();
  const bench = new Bench();
  let reads = 0;
  const init = { maxWr: 1, maxSge: 1, cq: bench.cq };
  const wq = new WorkQueue(bench.pd, reading(init, "cq", () => reads++));
  assertEquals([reads, wq.cq === bench.cq], [1, true]);
  bench.context.close();
});

Deno.test("new RwqIndirectionTable() keeps the list as it was at first", () => {
  recorder.reset();
  const bench = new Bench();
  const list = [bench.wq, bench.second];
  const growing = reading(list, "0", () => {
    if (list.length < 200) list.push(...list);
  });
  const table = bench.newTable(growing);
  assertEquals([table.size, table.workQueues.length], [2, 2]);
  assert(Object.isFrozen(table.workQueues));
  bench.context.close();
});

Deno.test("Work queues and tables show what matters on one line", () => {
  recorder.reset();
  const bench = new Bench();
  const { wq } = bench;
  const table = bench.newTable();
  assertEquals(Deno.inspect(wq), `WorkQueue { wqNum: ${wq.wqNum}, state: "RESET" }`);
  const { tableNumber } = table;
  assertEquals(Deno.inspect(table), `RwqIndirectionTable { tableNumber: ${tableNumber}, size: 2 }`);
  bench.context.close();
  assertEquals(Deno.inspect(wq), "WorkQueue { disposed }");
});
