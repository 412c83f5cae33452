// Completion counters.
import { assertEquals, assertThrows } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import { CompCntrType, CompletionCounter, QpAttachCompCntrOp, QpType } from "../../../mod.ts";
import { openRecorder, testsOn } from "../recorded.ts";

const on = testsOn(openRecorder);

on.test("CompletionCounter sets, adds to and reads both counts", ({ context }) => {
  using counter = new CompletionCounter(context);
  assertEquals([counter.type, counter.context], [CompCntrType.WRS, context]);
  counter.set(2n ** 64n - 1n);
  counter.setErr(5);
  counter.incErr(2n);
  assertEquals([counter.read(), counter.readErr()], [2n ** 64n - 1n, 7n]);
  counter.inc(3);
  assertEquals([counter.read(), counter.readErr()], [2n, 7n]);
  assertEquals(context.queryCompCntrCaps(), {
    maxValue: 2n ** 64n - 1n,
    maxCounters: 64,
    supportedQpAttachOps: QpAttachCompCntrOp.SEND | QpAttachCompCntrOp.RECV,
  });
});

on.test("A queue pair keeps its counters until it is destroyed", (fixture) => {
  const counter = new CompletionCounter(fixture.context);
  const other = new CompletionCounter(fixture.context);
  const qp = fixture.qp(QpType.RC);
  qp.attachCompCntr(counter, QpAttachCompCntrOp.SEND);
  qp.attachCompCntr(other, QpAttachCompCntrOp.RECV);
  recorder.take();
  counter.close();
  assertThrows(() => counter.read(), TypeError, "disposed");
  assertEquals(recorder.take(), []);
  recorder.fail("ibv_destroy_qp", "EBUSY", { times: 1 });
  assertThrows(() => qp.close());
  assertEquals(recorder.takeOf("ibv_destroy_comp_cntr"), []);
  qp.close();
  const ends = recorder.takeOf("ibv_destroy_qp", "ibv_destroy_comp_cntr");
  assertEquals(ends.map(({ verb }) => verb), ["ibv_destroy_qp", "ibv_destroy_comp_cntr"]);
  assertEquals(other.read(), 0n);
  other.close();
});

on.test("A queue pair keeps no counter that could not be attached", (fixture) => {
  const counter = new CompletionCounter(fixture.context);
  const qp = fixture.qp(QpType.RC);
  recorder.fail("ibv_qp_attach_comp_cntr", "EBUSY", { times: 1 });
  assertThrows(() => qp.attachCompCntr(counter, 1), Error, "One of the operations has a counter");
  recorder.take();
  counter.close();
  assertEquals(recorder.takeOf("ibv_destroy_comp_cntr").length, 1);
});
