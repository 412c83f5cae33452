/** Attributes of objects and requests, as the recording provider gets them: all that C sees is what was given. */

import { camelCase } from "../../ffi/struct.ts";
import {
  AddressHandle,
  CompletionQueueEx,
  DeviceMemory,
  Flow,
  QpState,
  QpType,
  QueuePair,
  SharedReceiveQueue,
  VerbsError,
  WorkQueue,
  WqState,
  WrOpcode,
} from "../../mod.ts";
import { Fixture } from "../../tests/device/fixture.ts";
import type { RecordedStruct } from "../../tests/provider/records.ts";
import { wrong } from "./inputs.ts";
import { provider, recorded } from "./servers.ts";
import { expected, fc, same, type Target, target } from "./target.ts";

/** What requests and objects are made from. */
class World extends Fixture {
  readonly rc = this.newQp(QpType.RC);
  readonly raw = this.newQp(QpType.RAW_PACKET);
  readonly srq = new SharedReceiveQueue(this.pd, { maxWr: 4 });
  readonly wq = new WorkQueue(this.pd, { maxWr: 4, maxSge: 1, cq: this.cq });
  readonly mr = this.newMr();
}

// Attributes come from the generator: whether they fit is what is tried.
// deno-lint-ignore no-explicit-any -- as above
type Attributes = any;

/** A verb, the C fields that attributes are written to, and what calls the verb with attributes. */
type Row = readonly [
  verb: string,
  fields: readonly string[],
  call: (world: World, attributes: Attributes) => Disposable | void,
];

const ROWS: readonly Row[] = [
  [
    "ibv_create_ah",
    ["dlid", "sl", "src_path_bits", "static_rate"],
    ({ pd }, attr) => new AddressHandle(pd, { portNum: 1, dlid: 1, ...attr }),
  ],
  [
    "ibv_create_qp",
    ["max_send_wr", "max_recv_wr", "max_send_sge", "max_recv_sge", "max_inline_data"]
      .map((name) => `cap.${name}`),
    (world, cap) => world.newQp(QpType.RC, { cap }),
  ],
  [
    "ibv_create_qp_ex",
    ["create_flags", "max_tso_header"],
    ({ pd, cq }, init) =>
      new QueuePair(pd, { type: QpType.UD, sendCq: cq, recvCq: cq, sendOpsFlags: 0, ...init }),
  ],
  [
    "ibv_modify_qp",
    [
      ...["qkey", "rq_psn", "sq_psn", "dest_qp_num", "max_rd_atomic", "max_dest_rd_atomic"],
      ...["min_rnr_timer", "timeout", "retry_cnt", "rnr_retry", "pkey_index", "alt_pkey_index"],
      ...["alt_timeout", "rate_limit", "qp_access_flags"],
    ],
    ({ rc }, attr) => rc.modify({ qpState: QpState.INIT, portNum: 1, ...attr }),
  ],
  [
    "ibv_create_srq",
    ["attr.max_wr", "attr.max_sge"],
    ({ pd }, init) => new SharedReceiveQueue(pd, { maxWr: 4, ...init }),
  ],
  ["ibv_modify_srq", ["max_wr", "srq_limit"], ({ srq }, attr) => srq.modify(attr)],
  [
    "ibv_create_wq",
    ["max_wr", "max_sge", "create_flags"],
    ({ pd, cq }, init) => new WorkQueue(pd, { maxWr: 4, maxSge: 1, cq, ...init }),
  ],
  [
    "ibv_modify_wq",
    ["flags", "flags_mask"],
    ({ wq }, attr) => wq.modify({ wqState: WqState.RDY, ...attr }),
  ],
  [
    "ibv_modify_cq",
    ["moderate.cq_count", "moderate.cq_period"],
    ({ cq }, moderate) => cq.modify({ moderate: { cqCount: 1, cqPeriod: 1, ...moderate } }),
  ],
  [
    "ibv_create_cq_ex",
    ["cqe", "comp_vector", "flags"],
    ({ context }, init) => new CompletionQueueEx(context, { cqe: 4, ...init }),
  ],
  [
    "ibv_alloc_dm",
    ["length", "log_align_req"],
    ({ context }, attr) => new DeviceMemory(context, { length: 64, ...attr }),
  ],
  [
    "ibv_create_flow",
    ["priority", "flags"],
    ({ raw }, attr) => new Flow(raw, { port: 1, ...attr }),
  ],
  [
    "ibv_post_recv",
    ["wr_id"],
    ({ rc, mr }, request) => rc.postRecv({ sge: mr.slice(0, 8), ...request }),
  ],
  [
    "ibv_post_send",
    ["wr_id", "wr.rdma.remote_addr", "wr.rdma.rkey", "imm_data"],
    ({ rc, mr }, request) =>
      rc.postSend({
        ...{ opcode: WrOpcode.RDMA_WRITE_WITH_IMM, sge: mr.slice(0, 8) },
        ...{ remoteAddr: 0, rkey: 0, immData: 0, ...request },
      }),
  ],
];

/** The attribute that is written to a C field. */
function attributeOf(field: string): string {
  return camelCase(field.slice(field.lastIndexOf(".") + 1));
}

const attributesOf = (row: Row): fc.Arbitrary<[Row, Record<string, unknown>]> => {
  const value = fc.oneof(
    // Some fields have few bits, and one value out of range hides the others.
    { weight: 30, arbitrary: fc.nat(7) },
    { weight: 3, arbitrary: fc.nat(255) },
    { weight: 1, arbitrary: fc.nat(0xffff) },
    { weight: 1, arbitrary: fc.bigInt({ min: 0n, max: 0xffff_ffffn }).map(Number) },
    { weight: 1, arbitrary: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }) },
    { weight: 1, arbitrary: wrong },
  );
  const model = Object.fromEntries(row[1].map((field) => [attributeOf(field), value]));
  return fc.record(model, { requiredKeys: [] }).map((attributes) => [row, attributes]);
};

type Recorder = Awaited<ReturnType<typeof provider>>;

function check(
  recorder: Recorder,
  world: World,
  [[verb, fields, call], attributes]: [Row, Record<string, unknown>],
): void {
  recorder.take();
  let made: Disposable | void;
  try {
    made = call(world, attributes);
  } catch (error) {
    expected(error, TypeError, RangeError, VerbsError);
    return;
  }
  const { args } = recorder.takeOne(verb);
  made?.[Symbol.dispose]();
  const structs = Object.values(args).filter((arg) => typeof arg === "object" && arg !== null);
  for (const field of fields) {
    const name = attributeOf(field);
    const value = attributes[name];
    if (value === undefined) continue;
    const seen = (structs as RecordedStruct[]).map(({ fields }) => fields[field])
      .find((found) => found !== undefined);
    same(BigInt(seen as number), BigInt(value as number), `${verb}: ${name}`);
  }
}

export const OBJECTS: readonly Target[] = [
  target(
    "objects",
    [20, 40],
    `${ROWS.length} verbs on the recorder: each attribute reaches C, or is refused`,
    [fc.array(fc.constantFrom(...ROWS).chain(attributesOf), {
      minLength: 1,
      maxLength: 40,
      size: "max",
    })],
    (calls) =>
      recorded(calls, async () => {
        const recorder = await provider();
        using world = new World("recorder0");
        for (const call of calls) check(recorder, world, call);
      }),
  ),
];
