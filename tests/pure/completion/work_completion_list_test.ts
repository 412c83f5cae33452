// Completions in native layout.
import { assertEquals, assertThrows } from "@std/assert";
import { structs } from "../../../ffi/layout.ts";
import { camelCase, writeField } from "../../../ffi/struct.ts";
import { WcOpcode, WcStatus } from "../../../types/completion/work_completion.ts";
import { batchCore, WorkCompletionList } from "../../../types/completion/work_completion_list.ts";

const { fields, size } = structs.ibv_wc;

/** Writes completions with these `wrId` as a poll does. */
function fill(batch: WorkCompletionList, ...wrIds: bigint[]): void {
  for (const [i, wrId] of wrIds.entries()) {
    writeField(batchCore(batch).view, fields.wr_id, wrId, i * size);
  }
  batchCore(batch).polled(wrIds.length);
}

Deno.test("WorkCompletionList reads each field at the place that C gives it", () => {
  const batch = new WorkCompletionList(2);
  const written = {
    ...{ wr_id: 0x1_0000_0007n, status: WcStatus.SUCCESS, opcode: WcOpcode.RECV, vendor_err: 3 },
    ...{ byte_len: 104, imm_data: 0x01020304, qp_num: 17, src_qp: 18, wc_flags: 1 },
    ...{ slid: 0xfffe, sl: 15, dlid_path_bits: 127 },
  } as const;
  const found: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(written)) {
    const name = key as keyof typeof written;
    // The layout has host order for the union; immediate data is in network order.
    if (name === "imm_data") {
      batchCore(batch).view.setUint32(size + fields[name].offset, 0x01020304);
    } else writeField(batchCore(batch).view, fields[name], value, size);
  }
  batchCore(batch).polled(2);
  for (const name of Object.keys(written)) {
    const reader = camelCase(name) as "wrId";
    found[name] = batch[reader](1);
  }
  assertEquals(found, written);
  assertEquals(batch.wrIdLow(1), 7);
  assertEquals(batch.invalidatedRkey(1), 0x04030201);
  const object = batch.at(1);
  assertEquals(
    [object.wrId, object.immData, object.slid, object.sl, object.dlidPathBits],
    [written.wr_id, written.imm_data, written.slid, written.sl, written.dlid_path_bits],
  );
});

Deno.test("WorkCompletionList.isSend() takes sends that succeeded, and nothing else", () => {
  const batch = new WorkCompletionList(1);
  fill(batch, 1n);
  const isSend = (opcode: WcOpcode, status: WcStatus): boolean => {
    const { view } = batchCore(batch);
    writeField(view, fields.opcode, opcode);
    writeField(view, fields.status, status);
    return batch.isSend(0);
  };
  assertEquals(isSend(WcOpcode.RDMA_WRITE, WcStatus.SUCCESS), true);
  assertEquals(isSend(WcOpcode.RDMA_WRITE, WcStatus.WR_FLUSH_ERR), false);
  assertEquals(isSend(WcOpcode.RECV, WcStatus.SUCCESS), false);
});

Deno.test("WorkCompletionList.at() throws when the last poll did not write that completion", () => {
  const batch = new WorkCompletionList(4);
  fill(batch, 1n, 2n);
  assertEquals(batch.at(1).wrId, 2n);
  for (const index of [2, -1, 0.5, NaN]) {
    assertThrows(() => batch.at(index), RangeError, "the last poll wrote 2");
  }
});

Deno.test("WorkCompletionList and WorkCompletion are short in console.log", () => {
  const batch = new WorkCompletionList(2);
  fill(batch, 7n);
  assertEquals(Deno.inspect(batch), "WorkCompletionList { capacity: 2, length: 1 }");
  assertEquals(
    Deno.inspect(batch.at(0)),
    "WorkCompletion { wrId: 7n, status: SUCCESS, qpNum: 0, opcode: SEND, byteLen: 0, wcFlags: 0 }",
  );
  const { view } = batchCore(batch);
  view.setUint32(fields.src_qp.offset, 17, true);
  assertEquals(Deno.inspect(batch.at(0)).endsWith("wcFlags: 0, srcQp: 17 }"), true);
  view.setUint32(fields.status.offset, WcStatus.WR_FLUSH_ERR, true);
  assertEquals(
    Deno.inspect(batch.at(0)),
    "WorkCompletion { wrId: 7n, status: WR_FLUSH_ERR, qpNum: 0, vendorErr: 0 }",
  );
});
