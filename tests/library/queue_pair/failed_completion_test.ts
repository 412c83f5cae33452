// What a failed completion says of the queue pair that it belongs to.

import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertMatch } from "@std/assert";
import { PortState, QpType, WcStatus, WorkCompletionError } from "../../../mod.ts";
import { onRc, onUd, record, type Recorded } from "../work/recorded.ts";

const { LOC_LEN_ERR, LOC_QP_OP_ERR, RETRY_EXC_ERR, REM_ACCESS_ERR } = WcStatus;
const USUAL = /could not execute the request|did not answer|does not allow this access/;

/** The hint of a completion of the queue pair that failed with this status. */
function hintOf({ cq, qp }: Pick<Recorded, "cq" | "qp">, status: WcStatus): string {
  recorder.complete("cq0", { status, qp_num: qp.qpNum });
  return new WorkCompletionError(cq.poll(1)[0]!).hint!;
}

/** The port, the address and the GID table as the device reports them. */
function answer({ state, index = 1 }: { state: PortState; index?: number }): void {
  recorder.answer("ibv_query_port", { state, active_mtu: 3 });
  recorder.answer("ibv_query_qp", {
    ...{ port_num: 1, "ah_attr.is_global": 1, "ah_attr.grh.sgid_index": index },
  });
}

onRc.test("A failed completion names the port that is down, where that can be the cause", (parts) => {
  answer({ state: PortState.DOWN });
  const down = "Port 1 of recorder0 is DOWN: nothing is sent while its link is down";
  for (const status of [LOC_QP_OP_ERR, RETRY_EXC_ERR]) assertEquals(hintOf(parts, status), down);
  assertMatch(hintOf(parts, REM_ACCESS_ERR), USUAL);
});

onRc.test("A failed completion names the source address that is gone", (parts) => {
  answer({ state: PortState.ACTIVE, index: 99 });
  assertMatch(hintOf(parts, LOC_QP_OP_ERR), /^GID index 99 of port 1 of recorder0 is empty/);
});

onRc.test("A failed completion names no address that is there", (parts) => {
  answer({ state: PortState.ACTIVE, index: parts.context.queryGidTable(1)[0]!.gidIndex });
  assertMatch(hintOf(parts, LOC_QP_OP_ERR), USUAL);
});

onRc.test("A message that is too long names the longest one of the port", (parts) => {
  recorder.answer("ibv_query_port", { max_msg_sz: 8 << 20, active_mtu: 3 });
  recorder.answer("ibv_query_qp", { port_num: 1 });
  assertMatch(
    hintOf(parts, LOC_LEN_ERR),
    /than 8388608 bytes, the longest message of port 1 \(max/,
  );
});

onUd.test("A datagram that is too long names the longest one of the port", (parts) => {
  answer({ state: PortState.ACTIVE });
  assertMatch(hintOf(parts, LOC_LEN_ERR), /40 more bytes .* one packet of port 1: 1024 bytes/);
});

onRc.test("A failed completion gives the usual cause if the device gives nothing", (parts) => {
  recorder.fail("ibv_query_qp", "EIO");
  assertMatch(hintOf(parts, LOC_QP_OP_ERR), USUAL);
});

Deno.test("A failed completion asks no queue pair that is closed", () => {
  using parts = record(QpType.UD);
  answer({ state: PortState.DOWN });
  assertMatch(hintOf(parts, LOC_QP_OP_ERR), /DOWN/);
  const { qpNum } = parts.qp;
  parts.qp.close();
  recorder.take();
  assertMatch(hintOf({ ...parts, qp: { qpNum } as Recorded["qp"] }, LOC_QP_OP_ERR), USUAL);
  assertEquals(recorder.takeOf("ibv_query_qp"), []);
});
