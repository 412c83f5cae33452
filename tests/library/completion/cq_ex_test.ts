// Extended completion queues: creating, every reader, polling that is never left half-way.
import * as recorder from "../../provider/recorder.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  VerbsError,
  WcFlags,
  WcOpcode,
  WcStatus,
  wcStatusStr,
  WorkCompletionList,
} from "../../../mod.ts";
import { camelCase } from "../../../ffi/mod.ts";
import { CompletionQueueEx } from "../../../types/completion/completion_queue_ex.ts";
import {
  CreateCqWcFlags,
  WorkCompletionListEx,
} from "../../../types/completion/work_completion_list_ex.ts";
import { onPd, testsWith } from "../recorded.ts";

const ALL = Object.values(CreateCqWcFlags).reduce((all: number, flag) => all | flag, 0);
const {
  BYTE_LEN,
  COMPLETION_TIMESTAMP: TS,
  COMPLETION_TIMESTAMP_WALLCLOCK: WALLCLOCK,
} = CreateCqWcFlags;

/** `cq` is cq0 in the recorder. */
const on = testsWith(({ context }) => ({ cq: new CompletionQueueEx(context, { cqe: 64 }) }));

/** The same, and it reports everything. */
const onAll = testsWith(({ context }) => ({
  cq: new CompletionQueueEx(context, { cqe: 64, wcFlags: ALL }),
}));

/** The polling verbs that were called since the last time, in order. */
function polls(): string[] {
  return recorder.take().map(({ verb }) => verb).filter((verb) => verb.endsWith("_poll"));
}

const FULL = {
  wr_id: 0x1_0000_0002n,
  status: WcStatus.SUCCESS,
  opcode: WcOpcode.RECV,
  byte_len: 104,
  qp_num: 17,
  src_qp: 18,
  wc_flags: WcFlags.GRH,
  slid: 0x1234,
  sl: 5,
  dlid_path_bits: 6,
  timestamp: 0xffff_ffff_ffff_fff0n,
  wallclock_ns: 1_700_000_000_000_000_000n,
  flow_tag: 0xabcdef,
  cvlan: 0xfff1,
  tm_info: { tag: 0xffff_0000_1111_2222n, priv: 77 },
};

on.test("CompletionQueueEx() reports the values of a WorkCompletion by default", ({ cq }) => {
  assertEquals(cq.wcFlags, 127);
  assertEquals(cq.cqe, 64);
  assert(Deno.inspect(cq).startsWith("CompletionQueueEx { cqe: 64, channel: "));
});

onPd.test("CompletionQueueEx() names the values that a device may not report", ({ context }) => {
  const make = (wcFlags: number, errno: "EOPNOTSUPP" | "EINVAL" = "EOPNOTSUPP") => (): unknown => {
    recorder.fail("ibv_create_cq_ex", errno);
    return new CompletionQueueEx(context, { cqe: 1, wcFlags });
  };
  const hintOf = (call: () => unknown): string | undefined => assertThrows(call, VerbsError).hint;
  assertEquals(
    hintOf(make(BYTE_LEN | CreateCqWcFlags.CVLAN)),
    "Not every device reports CVLAN (wcFlags)",
  );
  assertEquals(hintOf(make(BYTE_LEN))!.includes("wcFlags"), false);
  assertEquals(hintOf(make(TS)), "Not every device reports COMPLETION_TIMESTAMP (wcFlags)");
  recorder.answer("ibv_query_device_ex", { completion_timestamp_mask: 0n });
  const reason = ". This one has no clock: its completionTimestampMask is 0";
  for (const flag of [TS, WALLCLOCK]) assertEquals(hintOf(make(flag))!.endsWith(reason), true);
  assertEquals(hintOf(make(TS, "EINVAL")), undefined);
});

onAll.test("CompletionQueueEx.poll() reads every value that the queue was created for", ({ cq }) => {
  recorder.complete("cq0", FULL);
  const [wc] = cq.poll();
  const { timestamp, wallclock_ns, ...others } = FULL;
  const clocks = { completion_ts: timestamp, completion_wallclock_ns: wallclock_ns };
  const unset = { vendor_err: 0, imm_data: 0, invalidated_rkey: 0, pkey_index: 0 };
  for (const [name, value] of Object.entries({ ...others, ...clocks, ...unset })) {
    assertEquals(wc![camelCase(name) as keyof typeof wc & string], value, name);
  }
});

onPd.test("CompletionQueueEx calls no reader that the queue was not created for", ({ context }) => {
  for (const [i, wcFlags] of [0, BYTE_LEN, TS | WALLCLOCK].entries()) {
    const cq = new CompletionQueueEx(context, { cqe: 64, wcFlags });
    // A reader that is called without its flag would be a violation here, and a crash elsewhere.
    recorder.complete(`cq${i}`, { ...FULL, wc_flags: WcFlags.WITH_IMM });
    const [wc] = cq.poll();
    assertEquals([wc!.wrId, wc!.qpNum], [FULL.wr_id, FULL.qp_num]);
    assertEquals(wc!.byteLen, wcFlags & BYTE_LEN ? FULL.byte_len : 0);
    assertEquals(wc!.completionTs, wcFlags & TS ? FULL.timestamp : 0n);
    assertEquals([wc!.immData, wc!.srcQp, wc!.tmInfo.tag], [0, 0, 0n]);
  }
});

on.test("CompletionQueueEx reads immediate data in host order, and invalidated rkeys as they are", (setup) => {
  const { cq } = setup;
  // The recorder stores the number in network byte order.
  recorder.complete("cq0", { imm_data: 0x01020304, wc_flags: WcFlags.WITH_IMM });
  recorder.complete("cq0", { invalidated_rkey: 0x1234, wc_flags: WcFlags.WITH_INV });
  recorder.complete("cq0", { imm_data: 0x01020304 });
  const [imm, inv, none] = cq.poll();
  assertEquals(imm!.immData, 0x01020304);
  assertEquals(inv!.invalidatedRkey, 0x1234);
  assertEquals(none!.immData, 0);
});

onAll.test("CompletionQueueEx reads status, vendor error and queue pair of a failed request only", ({ cq }) => {
  recorder.complete("cq0", { ...FULL, status: WcStatus.WR_FLUSH_ERR, vendor_err: 9 });
  recorder.take();
  const [wc] = cq.poll();
  assertEquals([wc!.status, wc!.vendorErr, wc!.qpNum, wc!.wrId], [
    WcStatus.WR_FLUSH_ERR,
    9,
    FULL.qp_num,
    FULL.wr_id,
  ]);
  assertEquals([wc!.byteLen, wc!.wcFlags, wc!.completionTs], [0, 0, 0n]);
  const readers = recorder.take().map(({ verb }) => verb).filter((verb) => verb.includes("_read_"));
  assertEquals(readers.sort(), ["ibv_wc_read_qp_num", "ibv_wc_read_vendor_err"]);
});

onAll.test("CompletionQueueEx leaves nothing in a batch of the completions that were there before", ({ cq }) => {
  const batch = new WorkCompletionListEx(2);
  for (let i = 0; i < 2; i++) recorder.complete("cq0", FULL);
  assertEquals([cq.pollInto(batch), batch.byteLen(1), batch.flowTag(1)], [2, 104, FULL.flow_tag]);
  for (let i = 0; i < 2; i++) recorder.complete("cq0", { status: WcStatus.WR_FLUSH_ERR });
  assertEquals(cq.pollInto(batch), 2);
  for (const wc of batch) {
    assertEquals([wc.opcode, wc.byteLen, wc.srcQp, wc.slid, wc.sl], [0, 0, 0, 0, 0]);
    assertEquals([wc.completionTs, wc.flowTag, wc.cvlan, wc.tmInfo.priv], [0n, 0, 0, 0]);
  }
});

on.test("CompletionQueueEx of Soft-RoCE polls each completion by itself", ({ cq }) => {
  recorder.answer("ibv_query_device", { vendor_id: 0xff_ffff });
  for (let i = 0; i < 3; i++) recorder.complete("cq0", { wr_id: BigInt(i) });
  recorder.take();
  assertEquals(cq.poll(2).map(({ wrId }) => wrId), [0n, 1n]);
  const one = ["ibv_start_poll", "ibv_end_poll"];
  assertEquals(polls(), [...one, ...one]);
  assertEquals(cq.poll(2).map(({ wrId }) => wrId), [2n]);
  assertEquals(polls(), [...one, "ibv_start_poll"]);
  for (let i = 0; i < 2; i++) recorder.complete("cq0", { wr_id: BigInt(i) });
  recorder.fail("ibv_start_poll", "EIO", { times: 1, skip: 1 });
  assertEquals(cq.poll(2).map(({ wrId }) => wrId), [0n], "an error does not lose it");
  assertEquals(cq.poll(2).map(({ wrId }) => wrId), [1n]);
});

on.test("CompletionQueueEx starts, goes on and ends each poll as verbs.h wants it", ({ cq }) => {
  recorder.take();
  assertEquals(cq.poll(), []);
  assertEquals(polls(), ["ibv_start_poll"]);
  for (let i = 0; i < 3; i++) recorder.complete("cq0", { wr_id: BigInt(i) });
  assertEquals(cq.poll(2).map(({ wrId }) => wrId), [0n, 1n]);
  assertEquals(polls(), ["ibv_start_poll", "ibv_next_poll", "ibv_end_poll"]);
  assertEquals(cq.poll(2).map(({ wrId }) => wrId), [2n]);
  assertEquals(polls(), ["ibv_start_poll", "ibv_next_poll", "ibv_end_poll"]);
});

on.test("CompletionQueueEx.poll() throws when the provider fails, and loses no completion", (setup) => {
  const { cq } = setup;
  recorder.fail("ibv_start_poll", "EIO", { times: 1 });
  const error = assertThrows(() => cq.poll(), VerbsError);
  assertEquals([error.verb, error.code], ["ibv_start_poll", "EIO"]);
  for (let i = 0; i < 2; i++) recorder.complete("cq0", { wr_id: BigInt(i) });
  recorder.fail("ibv_next_poll", "EIO", { times: 1 });
  assertEquals(cq.poll().map(({ wrId }) => wrId), [0n]);
});

onAll.test("CompletionQueueEx.pollInto() fills batches of both kinds", ({ cq }) => {
  recorder.complete("cq0", FULL);
  recorder.complete("cq0", { ...FULL, wr_id: 3n, timestamp: 5n });
  const plain = new WorkCompletionList(1);
  assertEquals(cq.pollInto(plain), 1);
  assertEquals([plain.wrId(0), plain.byteLen(0)], [FULL.wr_id, FULL.byte_len]);
  const batch = new WorkCompletionListEx(4);
  assertEquals(cq.pollInto(batch), 1);
  assertEquals(
    [batch.wrId(0), batch.completionTs(0), batch.completionWallclockNs(0)],
    [3n, 5n, FULL.wallclock_ns],
  );
  assertEquals(
    [batch.cvlan(0), batch.flowTag(0), batch.tmTag(0), batch.tmPriv(0)],
    [FULL.cvlan, FULL.flow_tag, FULL.tm_info.tag, FULL.tm_info.priv],
  );
  assertEquals([...batch], [batch.at(0)]);
  assertThrows(() => batch.at(1), RangeError);
  assertEquals(Deno.inspect(batch), "WorkCompletionListEx { capacity: 4, length: 1 }");
});

on.test("CompletionQueueEx.completions() waits for events", async ({ cq }) => {
  const wait = cq.completions().next();
  recorder.complete("cq0", { wr_id: 8n });
  assertEquals((await wait).value?.wrId, 8n);
});

Deno.test("wcStatusStr() gives the text of libibverbs", () => {
  assertEquals(wcStatusStr(WcStatus.LOC_LEN_ERR), "local length error");
  assertEquals(wcStatusStr(99 as WcStatus), "unknown");
  assertThrows(() => wcStatusStr(-1 as WcStatus), RangeError);
  assertThrows(() => wcStatusStr("0" as unknown as WcStatus), TypeError);
});
