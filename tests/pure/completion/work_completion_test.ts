import { assertEquals, assertThrows } from "@std/assert";
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
  assertEquals(ok.check(), ok);
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
  assertEquals(error.completion, failed);
});

Deno.test("WorkCompletionError names every status, with or without a hint", () => {
  for (const [name, status] of Object.entries(WcStatus)) {
    const { code, message } = new WorkCompletionError(completion(status));
    assertEquals(code, name);
    assertEquals(message.endsWith("."), false);
  }
  assertEquals(new WorkCompletionError(completion(99)).code, "99");
});

Deno.test("WorkCompletion.check() throws for every status but SUCCESS", () => {
  for (const status of Object.values(WcStatus)) {
    const view = new DataView(new ArrayBuffer(structs.ibv_wc.size));
    view.setUint32(structs.ibv_wc.fields.status.offset, status, true);
    const completion = new WorkCompletion(view, 0);
    if (status === WcStatus.SUCCESS) completion.check();
    else assertThrows(() => completion.check(), WorkCompletionError);
  }
});
