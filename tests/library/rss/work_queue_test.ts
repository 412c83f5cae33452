// Work queues, as a provider receives them, and against wrong input.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { CompletionQueue, VerbsError, WorkQueue, WqState } from "../../../mod.ts";
import { onPd } from "../recorded.ts";
import { assertRefused, bad, fieldsOf, type Refusal } from "../refusals.ts";

onPd.test("WorkQueue.modify() refuses flags without their mask, and empty changes", (recorded) => {
  const cq = new CompletionQueue(recorded.context, { cqe: 8 });
  const wq = new WorkQueue(recorded.pd, { maxWr: 1, maxSge: 1, cq });
  assertRefused(
    [() => wq.modify({ flags: 1 }), TypeError, "flags and flagsMask go together"],
    [() => wq.modify({ flagsMask: 1 }), TypeError, "flags and flagsMask go together"],
    [() => wq.modify({}), TypeError, "no attribute is given"],
  );
  wq.modify({ wqState: WqState.RDY, flags: 1, flagsMask: 3 });
  const { attr_mask, flags, flags_mask } = fieldsOf("ibv_modify_wq");
  assertEquals([attr_mask, flags, flags_mask, wq.state], [5, 1, 3, WqState.RDY]);
});

onPd.test("new WorkQueue() says that the device has no work queues", ({ context, pd }) => {
  const init = { maxWr: 1, maxSge: 1, cq: new CompletionQueue(context, { cqe: 8 }) };
  recorder.answer("ibv_query_device_ex", { max_wq_type_rq: 0 });
  recorder.fail("ibv_create_wq", "EOPNOTSUPP");
  const { hint } = assertThrows(() => new WorkQueue(pd, init), VerbsError);
  assertEquals(hint, "The device has no work queues; those of mlx4, mlx5 and mana have");
});

onPd.test("WorkQueue refuses types and states that there are not", ({ context, pd }) => {
  const init = { maxWr: 1, maxSge: 1, cq: new CompletionQueue(context, { cqe: 8 }) };
  const wq = new WorkQueue(pd, init);
  const states = "it is none of 0 (RESET), 1 (RDY), 2 (ERR)";
  assertRefused(
    [() => new WorkQueue(pd, { ...init, wqType: bad(5) }), RangeError, "it is none of 0 (RQ)"],
    // The kernel would keep the queue locked for ever.
    ...[3, -1, 2 ** 32, NaN].flatMap((state) =>
      ["wqState", "currWqState"].map((name): Refusal => [
        () => wq.modify({ [name]: state }),
        RangeError,
        `Cannot use ${name} ${state}: ${states}`,
      ])
    ),
    [() => wq.modify({ wqState: bad("RDY") }), TypeError, states],
  );
});
