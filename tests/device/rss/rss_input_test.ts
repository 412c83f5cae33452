// Input of work queues and indirection tables that is wrong, or changes while it is read.
import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  type CompletionQueue,
  type QpInitAttr,
  QpType,
  QueuePair,
  RecvRequests,
  RwqIndirectionTable,
  WorkQueue,
  type WqAttr,
  WqState,
  type WqType,
} from "../../../mod.ts";
import { type Bench, calls, forget, hashOverAll, openBench, openStub, stubTest } from "../stub.ts";

const { RAW_PACKET, UD } = QpType;

/** A copy of an object whose property runs some code whenever it is read. */
function reading<T extends object>(attributes: T, name: keyof T, code: () => void): T {
  const value = attributes[name];
  return Object.defineProperty({ ...attributes }, name, {
    enumerable: true,
    get(): T[keyof T] {
      code();
      return value;
    },
  });
}

/** How what is public is used wrongly, and how each is refused. The other bench is of another context. */
type Refused = readonly [
  use: (bench: Bench, other: Bench) => unknown,
  type: ErrorConstructor,
  message: string,
];

const { RDY, RESET } = WqState;
const GONE = "it is disposed";
const no = undefined as never;

/** A list of work queues that runs some code when an entry is read. */
function listThat(
  list: readonly WorkQueue[],
  entry: string,
  code: (list: WorkQueue[]) => void,
): WorkQueue[] {
  return new Proxy([...list], {
    get(target, name, receiver): unknown {
      if (name === entry) code(target);
      return Reflect.get(target, name, receiver);
    },
  });
}

const WORK_QUEUES: readonly Refused[] = [
  [(bench, { cq }) => bench.newWq(cq), TypeError, "cq belongs to another context"],
  [(bench) => (bench.cq.close(), bench.newWq()), TypeError, `completion queue: ${GONE}`],
  [({ pd, cq }) => (pd.close(), new WorkQueue(pd, { maxWr: 1, maxSge: 1, cq })), TypeError, GONE],
  [({ cq }) => new WorkQueue(cq as never, { maxWr: 1, maxSge: 1, cq }), TypeError, "ProtectionDom"],
  [({ pd }) => new WorkQueue(pd, null as never), TypeError, "work queue attributes null"],
  ...["maxWr", "maxSge", "createFlags"].flatMap((name): Refused[] =>
    [-1, 2 ** 32].map((value) => [
      (bench) => bench.newWq(bench.cq, { [name]: value }),
      RangeError,
      name,
    ])
  ),
  ...([
    [{ maxWr: 1.5 }, TypeError, "maxWr"],
    [{ wqType: 5 as WqType }, RangeError, "Cannot use wqType 5: it is none of 0 (RQ)"],
    [{ cq: {} as never }, TypeError, "Cannot use cq an object: it is not a Completion"],
    [{ cq: no }, TypeError, "cq is missing"],
    [{ maxWr: no }, TypeError, "maxWr is missing"],
    [{ maxWR: 7 } as never, TypeError, 'there is no attribute "maxWR"'],
  ] as const).map(([init, type, message]): Refused => [
    (bench) => bench.newWq(bench.cq, init),
    type,
    message,
  ]),
  // Reading an attribute closes what the queue is made from.
  ...(["maxWr", "cq", "createFlags"] as const).flatMap((name): Refused[] =>
    (["pd", "cq"] as const).map((part) => [
      (bench) => {
        const { pd, cq } = bench;
        const init = { maxWr: 1, maxSge: 1, cq, createFlags: 0 };
        return new WorkQueue(pd, reading(init, name, () => bench[part].close()));
      },
      TypeError,
      GONE,
    ])
  ),
];

const CHANGES: readonly Refused[] = [
  // The kernel would keep the queue locked for ever.
  ...[3, 4, -1, 2 ** 31, 2 ** 32, NaN].flatMap((state) =>
    (["wqState", "currWqState"] as const).map((name) =>
      [{ [name]: state }, RangeError, `Cannot use ${name} ${state}`] as const
    )
  ),
  [{ wqState: "RDY" as never }, TypeError, "it is none of 0 (RESET), 1 (RDY), 2 (ERR)"] as const,
  [{ wqState: RDY, state: RDY } as never, TypeError, 'there is no attribute "state"'] as const,
].map(([attr, type, message]): Refused => [
  ({ workQueues: [wq] }) => wq!.modify(attr as WqAttr),
  type,
  message,
]).concat(
  (["wqState", "currWqState"] as const).map((name): Refused => [
    ({ workQueues: [wq] }) =>
      wq!.modify(reading({ wqState: RDY, currWqState: RESET }, name, () => wq!.close())),
    TypeError,
    `work queue: ${GONE}`,
  ]),
  [
    [({ workQueues: [wq] }) => (wq!.close(), wq!.modify({ wqState: RDY })), TypeError, GONE],
    [({ workQueues: [wq] }) => (wq!.close(), wq!.state), TypeError, GONE],
    [({ workQueues: [wq] }) => (wq!.close(), wq!.postRecv({})), TypeError, GONE],
    [({ workQueues: [wq] }) => wq!.postRecv(receives(), 3), RangeError, "post requests 0 to 2"],
    [({ workQueues: [wq] }) => wq!.postRecv(receives(), 1, 2), RangeError, "post requests"],
  ],
);

function receives(): RecvRequests {
  return new RecvRequests({ capacity: 2 });
}

const TABLES: readonly Refused[] = [
  ...[0, 3, 5, 127, 16384].map((size): Refused => [
    (bench) => bench.newTable(new Array(size).fill(bench.workQueues[0]!)),
    RangeError,
    `workQueues has ${size} entries, and a power of two up to 8192 is needed`,
  ]),
  // Both numbers mean a work queue to the kernel, in either context.
  [
    (bench, other) => bench.newTable([bench.workQueues[0]!, other.workQueues[1]!]),
    TypeError,
    "workQueues[1] belongs to another context",
  ],
  [(bench) => (bench.workQueues[1]!.close(), bench.newTable()), TypeError, `queue: ${GONE}`],
  [(bench) => (bench.context.close(), bench.newTable()), TypeError, `context: ${GONE}`],
  ...[null, undefined, {}].map((wrong): Refused => [
    (bench) => bench.newTable([bench.workQueues[0]!, wrong as WorkQueue]),
    TypeError,
    "Cannot use workQueues[1]",
  ]),
  [(bench) => bench.newTable(null as never), TypeError, "workQueues null"],
  [(bench) => bench.newTable({ length: 1 } as never), TypeError, "it is not an array"],
  [
    ({ pd, workQueues }) => new RwqIndirectionTable(pd as never, workQueues),
    TypeError,
    "it is not a Context",
  ],
  [
    (bench) => bench.newTable(listThat(bench.workQueues, "1", ([, b]) => b!.close())),
    TypeError,
    `work queue: ${GONE}`,
  ],
  [
    (bench) => bench.newTable(listThat(bench.workQueues, "0", () => bench.context.close())),
    TypeError,
    GONE,
  ],
];

/** What an RSS queue pair takes. */
function rss(bench: Bench, more: Partial<QpInitAttr> = {}): QueuePair {
  const init = { type: RAW_PACKET, rwqIndTbl: bench.newTable(), rxHashConf: hashOverAll() };
  return new QueuePair(bench.pd, { ...init, ...more });
}

const QUEUE_PAIRS: readonly Refused[] = [
  ...([({ cq }) => ({ recvCq: cq }), () => ({ cap: { maxRecvWr: 1 } }), () => ({
    cap: { maxRecvSge: 1 },
  })] as ((bench: Bench) => Partial<QpInitAttr>)[]).map((wrong): Refused => [
    (bench) => rss(bench, wrong(bench)),
    TypeError,
    "with an indirection table it has no receive queue of its own",
  ]),
  [(bench) => rss(bench, { cap: { maxSendWr: 1 } }), TypeError, "its send queue takes sendCq"],
  [
    ({ pd }) => new QueuePair(pd, { type: RAW_PACKET, rxHashConf: hashOverAll() }),
    TypeError,
    "it takes sendCq",
  ],
  [
    (bench, other) => rss(bench, { rwqIndTbl: other.newTable() }),
    TypeError,
    "rwqIndTbl belongs to another context",
  ],
  [(bench, { cq }) => bench.newQp(UD, { sendCq: cq }), TypeError, "sendCq belongs to another"],
  [(bench, { cq }) => bench.newQp(UD, { recvCq: cq }), TypeError, "recvCq belongs to another"],
];

const ALL = { WORK_QUEUES, CHANGES, TABLES, QUEUE_PAIRS };
for (const [what, refused] of Object.entries(ALL)) {
  stubTest(`Of the wrong uses in ${what}, each is refused before native code is reached`, () => {
    for (const [use, type, message] of refused) {
      using bench = openBench(2);
      using other = openBench(2);
      forget();
      assertThrows(() => use(bench, other), type, message);
      const reached = calls().map(({ verb }) => verb);
      const closing = /^(destroy|dealloc|create_cq|create_rwq_ind_table$)/;
      const allowed = what === "QUEUE_PAIRS" ? closing : /^(destroy|dealloc|create_cq)/;
      assertEquals(reached.filter((verb) => !allowed.test(verb)), [], `${use}`);
    }
  });
}

stubTest("new WorkQueue() depends on the completion queue that the device got", () => {
  using stub = openStub();
  const queues = [0, 1, 2].map(() => stub.newCq());
  const numbers = calls("create_cq").map(({ cq }) => cq);
  let reads = 0;
  const wq = new WorkQueue(stub.pd, {
    maxWr: 1,
    maxSge: 1,
    get cq(): CompletionQueue {
      return queues[reads++]!;
    },
  });
  const used = numbers.indexOf(calls("create_wq")[0]!.cq);
  assert(wq.cq === queues[used]);
  queues[used]!.close();
  assert(wq.disposed);
});

stubTest("new RwqIndirectionTable() takes a list as long as it was at first", () => {
  using bench = openBench(4);
  const growing = listThat(bench.workQueues, "0", (list) => {
    if (list.length < 200) list.push(...bench.workQueues);
  });
  const table = bench.newTable(growing);
  assertEquals(table.size, 4);
  assertEquals(calls("create_rwq_ind_table")[0]!.wqs, table.workQueues.map((wq) => wq.wqNum));
});

stubTest("Work queues and tables show what matters on one line", () => {
  using bench = openBench(2);
  const [wq] = bench.workQueues;
  const table = bench.newTable();
  assertEquals(Deno.inspect(wq), `WorkQueue { wqNum: ${wq!.wqNum}, state: "RESET" }`);
  const { tableNumber } = table;
  assertEquals(Deno.inspect(table), `RwqIndirectionTable { tableNumber: ${tableNumber}, size: 2 }`);
  bench.pd.close();
  assertEquals(Deno.inspect(wq), "WorkQueue { disposed }");
});
