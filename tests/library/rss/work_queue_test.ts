// Work queues, as a provider receives them, and against wrong input.
import { assertEquals, assertThrows } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import {
  CompletionQueue,
  Context,
  ProtectionDomain,
  WorkQueue,
  WqFlags,
  WqState,
  WqType,
} from "../../../mod.ts";
import { onPd, openRecorder } from "../recorded.ts";

type Fields = Record<string, unknown>;

Deno.test("WorkQueue gives the provider every attribute, and a mask of those that need it", () => {
  using recorded = openRecorder();
  const { context, pd } = recorded;
  const cq = new CompletionQueue(context, { cqe: 8 });
  const createFlags = WqFlags.SCATTER_FCS;
  new WorkQueue(pd, { wqType: WqType.RQ, maxWr: 10, maxSge: 3, cq, createFlags });
  new WorkQueue(pd, { maxWr: 1, maxSge: 1, cq });
  const [full, plain] = recorder.takeOf("ibv_create_wq").map(({ args }) => {
    assertEquals([args["attr.pd"], args["attr.cq"]], ["pd0", "cq0"]);
    const { fields } = args.attr as { fields: Fields };
    const { comp_mask, create_flags, max_wr, max_sge, wq_type } = fields;
    return [comp_mask, create_flags, max_wr, max_sge, wq_type].map(Number);
  });
  assertEquals(full, [1, createFlags, 10, 3, WqType.RQ]);
  assertEquals(plain, [0, 0, 1, 1, WqType.RQ]);
});

onPd.test("WorkQueue refuses a completion queue of another context", ({ pd }) => {
  using other = Context.open("recorder0");
  const cq = new CompletionQueue(other, { cqe: 8 });
  assertThrows(
    () => new WorkQueue(pd, { maxWr: 1, maxSge: 1, cq }),
    TypeError,
    "cq belongs to another context",
  );
  assertEquals(recorder.takeOf("ibv_create_wq"), []);
});

Deno.test("WorkQueue goes before the completion queue and the domain that it was made from", () => {
  for (const first of ["cq", "pd"] as const) {
    using recorded = openRecorder();
    const pd = new ProtectionDomain(recorded.context);
    const cq = new CompletionQueue(recorded.context, { cqe: 8 });
    const wq = new WorkQueue(pd, { maxWr: 1, maxSge: 1, cq });
    ({ cq, pd })[first].close();
    assertEquals([wq.disposed, recorder.live("wq")], [true, 0]);
  }
});

onPd.test("WorkQueue.modify() refuses flags without their mask, and empty changes", (recorded) => {
  const cq = new CompletionQueue(recorded.context, { cqe: 8 });
  const wq = new WorkQueue(recorded.pd, { maxWr: 1, maxSge: 1, cq });
  recorder.take();
  assertThrows(() => wq.modify({ flags: 1 }), TypeError, "flags and flagsMask go together");
  assertThrows(() => wq.modify({ flagsMask: 1 }), TypeError, "flags and flagsMask go together");
  assertThrows(() => wq.modify({}), TypeError, "no attribute is given");
  assertEquals(recorder.take(), []);
  wq.modify({ wqState: WqState.RDY, flags: 1, flagsMask: 3 });
  const { fields } = recorder.takeOne("ibv_modify_wq").args.attr as { fields: Fields };
  assertEquals([fields.attr_mask, fields.flags, fields.flags_mask].map(Number), [5, 1, 3]);
  assertEquals(wq.state, WqState.RDY);
});
