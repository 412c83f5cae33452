import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { structs } from "../../../ffi/layout.ts";
import { writeField } from "../../../ffi/struct.ts";
import {
  WcStatus,
  WorkCompletion,
  WorkCompletionError,
} from "../../../types/completion/work_completion.ts";

function completion(status: number, vendorErr = 0): WorkCompletion {
  const { ibv_wc } = structs;
  const view = new DataView(new ArrayBuffer(ibv_wc.size));
  writeField(view, ibv_wc.fields.wr_id, 77n);
  writeField(view, ibv_wc.fields.status, status);
  writeField(view, ibv_wc.fields.vendor_err, vendorErr);
  writeField(view, ibv_wc.fields.qp_num, 5);
  return new WorkCompletion(view, 0);
}

Deno.test("WorkCompletion.check() gives the completion itself when it succeeded", () => {
  const ok = completion(WcStatus.SUCCESS);
  assertStrictEquals(ok.check(), ok);
  assertEquals(ok.ok, true);
});

Deno.test("WorkCompletion.check() throws the status' name and what usually lies behind it", () => {
  const failed = completion(WcStatus.RNR_RETRY_EXC_ERR, 0x81);
  const error = assertThrows(() => failed.check(), WorkCompletionError);
  assertEquals(
    error.message,
    "Work request 77 on queue pair 5 failed: RNR_RETRY_EXC_ERR, vendor error 129. " +
      "The peer had no receive posted",
  );
  assertEquals([error.code, error.name], ["RNR_RETRY_EXC_ERR", "WorkCompletionError"]);
  assertStrictEquals(error.completion, failed);
});

Deno.test("WorkCompletion.check() throws for every status but SUCCESS, and names it", () => {
  for (const [name, status] of Object.entries(WcStatus)) {
    if (status === WcStatus.SUCCESS) continue;
    const { code, message } = assertThrows(() => completion(status).check(), WorkCompletionError);
    assertEquals([code, message.endsWith(".")], [name, false]);
  }
  const { code, message } = new WorkCompletionError(completion(99));
  assertEquals([code, message], ["99", "Work request 77 on queue pair 5 failed: 99"]);
});

Deno.test("WorkCompletionError tells the usual cause of a status that has one", () => {
  const causes = ["LOC_LEN_ERR", "LOC_QP_OP_ERR", "LOC_PROT_ERR", "WR_FLUSH_ERR", "LOC_ACCESS_ERR"]
    .concat(
      "MW_BIND_ERR",
      "REM_INV_REQ_ERR",
      "REM_ACCESS_ERR",
      "REM_OP_ERR",
      "RETRY_EXC_ERR",
      "RNR_RETRY_EXC_ERR",
    );
  for (const [name, status] of Object.entries(WcStatus)) {
    const { hint, message } = new WorkCompletionError(completion(status));
    assertEquals(hint !== undefined, causes.includes(name), name);
    if (hint === undefined) continue;
    assertEquals([message.endsWith(`. ${hint}`), /^[A-Z].{20,}/.test(hint)], [true, true], name);
  }
});

/** Completions whose bytes are all different, read from one view that is written again for each of them. */
function many(count: number): { completion: WorkCompletion; wrId: bigint; vendorErr: number }[] {
  const { size, fields } = structs.ibv_wc;
  const view = new DataView(new ArrayBuffer(size + 8));
  return Array.from({ length: count }, (_, i) => {
    const wrId = BigInt(i) << 40n | BigInt(i);
    writeField(view, fields.wr_id, wrId, 8);
    writeField(view, fields.vendor_err, 0xffff_ffff - i, 8);
    writeField(view, fields.dlid_path_bits, i & 0x7f, 8);
    return { completion: new WorkCompletion(view, 8), wrId, vendorErr: 0xffff_ffff - i };
  });
}

Deno.test("WorkCompletion is a copy, however many are made after it", () => {
  for (const [i, { completion, wrId, vendorErr }] of many(10_000).entries()) {
    assertEquals([completion.wrId, completion.vendorErr], [wrId, vendorErr]);
    assertEquals(completion.dlidPathBits, i & 0x7f);
  }
});

Deno.test("WorkCompletion() reads no byte outside the view", () => {
  const view = new DataView(new ArrayBuffer(structs.ibv_wc.size));
  for (const base of [-1, 8, 2 ** 32]) {
    assertThrows(() => new WorkCompletion(view, base), RangeError);
  }
});
