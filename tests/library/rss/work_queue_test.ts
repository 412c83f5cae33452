// Work queues, as a provider receives them, and against wrong input.
import { assertEquals, assertThrows } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import {
  CompletionQueue,
  Context,
  ProtectionDomain,
  WorkQueue,
  WqState,
  WqType,
} from "../../../mod.ts";
import { onPd, openRecorder } from "../recorded.ts";

type Fields = Record<string, unknown>;

onPd.test("WorkQueue sets no mask for flags that are not given", ({ context, pd }) => {
  new WorkQueue(pd, { maxWr: 1, maxSge: 1, cq: new CompletionQueue(context, { cqe: 8 }) });
  const { comp_mask, create_flags, wq_type } =
    (recorder.takeOne("ibv_create_wq").args.attr as { fields: Fields }).fields;
  assertEquals({ comp_mask, create_flags, wq_type }, {
    comp_mask: 0,
    create_flags: 0,
    wq_type: WqType.RQ,
  });
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
