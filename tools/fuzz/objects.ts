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

type Call = (world: World, attributes: Attributes) => Disposable | void;

const MODIFY_QP = "qkey rq_psn sq_psn dest_qp_num max_rd_atomic max_dest_rd_atomic min_rnr_timer " +
  "timeout retry_cnt rnr_retry pkey_index alt_pkey_index alt_timeout rate_limit qp_access_flags";

/** What calls a verb with attributes, by the verb and the C fields that they are written to. */
const CALLS: Readonly<Record<string, Call>> = {
  "ibv_create_ah dlid sl src_path_bits static_rate": ({ pd }, attr) =>
    new AddressHandle(pd, { portNum: 1, dlid: 1, ...attr }),
  "ibv_create_qp max_send_wr max_recv_wr max_send_sge max_recv_sge max_inline_data": (world, cap) =>
    world.newQp(QpType.RC, { cap }),
  "ibv_create_qp_ex create_flags max_tso_header": ({ pd, cq }, init) =>
    new QueuePair(pd, { type: QpType.UD, sendCq: cq, recvCq: cq, sendOpsFlags: 0, ...init }),
  [`ibv_modify_qp ${MODIFY_QP}`]: ({ rc }, attr) =>
    rc.modify({ qpState: QpState.INIT, portNum: 1, ...attr }),
  "ibv_create_srq max_wr max_sge": ({ pd }, init) =>
    new SharedReceiveQueue(pd, { maxWr: 4, ...init }),
  "ibv_modify_srq max_wr srq_limit": ({ srq }, attr) => srq.modify(attr),
  "ibv_create_wq max_wr max_sge create_flags": ({ pd, cq }, init) =>
    new WorkQueue(pd, { maxWr: 4, maxSge: 1, cq, ...init }),
  "ibv_modify_wq flags flags_mask": ({ wq }, attr) => wq.modify({ wqState: WqState.RDY, ...attr }),
  "ibv_modify_cq cq_count cq_period": ({ cq }, moderate) =>
    cq.modify({ moderate: { cqCount: 1, cqPeriod: 1, ...moderate } }),
  "ibv_create_cq_ex cqe comp_vector flags": ({ context }, init) =>
    new CompletionQueueEx(context, { cqe: 4, ...init }),
  "ibv_alloc_dm length log_align_req": ({ context }, attr) =>
    new DeviceMemory(context, { length: 64, ...attr }),
  "ibv_create_flow priority flags": ({ raw }, attr) => new Flow(raw, { port: 1, ...attr }),
  "ibv_post_recv wr_id": ({ rc, mr }, request) => rc.postRecv({ sge: mr.slice(0, 8), ...request }),
  "ibv_post_send wr_id remote_addr rkey imm_data": ({ rc, mr }, request) =>
    rc.postSend({
      ...{ opcode: WrOpcode.RDMA_WRITE_WITH_IMM, sge: mr.slice(0, 8) },
      ...{ remoteAddr: 0, rkey: 0, immData: 0, ...request },
    }),
};

const values = fc.oneof(
  // Some fields have few bits, and one value out of range hides the others.
  { weight: 30, arbitrary: fc.nat(7) },
  { weight: 3, arbitrary: fc.nat(255) },
  { weight: 1, arbitrary: fc.nat(0xffff) },
  { weight: 1, arbitrary: fc.bigInt({ min: 0n, max: 0xffff_ffffn }).map(Number) },
  { weight: 1, arbitrary: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }) },
  { weight: 1, arbitrary: wrong },
);

const calls = fc.constantFrom(...Object.entries(CALLS)).chain(([row, call]) => {
  const [verb = "", ...fields] = row.split(" ");
  const model = Object.fromEntries(fields.map((field) => [camelCase(field), values]));
  const rest = { verb: fc.constant(verb), fields: fc.constant(fields), call: fc.constant(call) };
  return fc.record({ ...rest, attributes: fc.record(model, { requiredKeys: [] }) });
});
type Tried = typeof calls extends fc.Arbitrary<infer T> ? T : never;

type Recorder = Awaited<ReturnType<typeof provider>>;

function check(
  recorder: Recorder,
  world: World,
  { verb, fields, call, attributes }: Tried,
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
  const written = (structs as RecordedStruct[]).flatMap(({ fields }) => Object.entries(fields));
  for (const field of fields) {
    const value = attributes[camelCase(field)];
    if (value === undefined) continue;
    const [, seen] = written.find(([name]) => name === field || name.endsWith(`.${field}`))!;
    same(BigInt(seen as number), BigInt(value as number), `${verb}: ${field}`);
  }
}

const rounds = fc.array(calls, { minLength: 1, maxLength: 40, size: "max" });
const WHAT = `${Object.keys(CALLS).length} verbs: each attribute reaches C, or is refused`;

export const OBJECTS: readonly Target[] = [
  target("objects", [20, 40], WHAT, [rounds], (inputs) =>
    recorded(inputs, async () => {
      const recorder = await provider();
      using world = new World("recorder0");
      for (const input of inputs) check(recorder, world, input);
    })),
];
