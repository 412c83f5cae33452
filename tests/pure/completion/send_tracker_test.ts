import { assertEquals } from "@std/assert";
import { SendTracker } from "../../../types/completion/send_tracker.ts";
import { Resource } from "../../../types/core/resource.ts";

/** Something that sends of one tracker use. */
class Used extends Resource {
  destroyed = false;

  constructor(tracker: SendTracker, number: number) {
    super({
      name: "used",
      isInUse: (used: Used) => {
        if (!tracker.isUnderWay(number)) return false;
        tracker.whenDone(number, used);
        return true;
      },
      destroy: (_, used: Used) => {
        used.destroyed = true;
      },
    }, []);
  }
}

Deno.test("SendTracker.posted() numbers sends by the signaled ones", () => {
  const tracker = new SendTracker();
  assertEquals([3, 0, 2, 1].map((signaled) => tracker.posted(signaled)), [0, 3, 3, 5]);
});

Deno.test("SendTracker.isUnderWay() is true until the completion of that send", () => {
  const tracker = new SendTracker();
  tracker.posted(3);
  tracker.completed(1);
  assertEquals([1, 2, 3].map((number) => tracker.isUnderWay(number)), [false, true, true]);
  tracker.completed(2);
  assertEquals(tracker.isUnderWay(3), false);
  assertEquals(tracker.isUnderWay(4), true);
});

Deno.test("SendTracker.awaitsCompletion is true while a signaled send is outstanding", () => {
  const tracker = new SendTracker();
  const steps: [step: () => void, awaits: boolean][] = [
    [() => {}, false],
    // Unsignaled sends have no completion.
    [() => tracker.posted(0), false],
    [() => tracker.posted(2), true],
    [() => tracker.completed(1), true],
    [() => tracker.completed(1), false],
    [() => tracker.posted(1), true],
    [() => tracker.ended(), false],
  ];
  for (const [step, awaits] of steps) {
    step();
    assertEquals(tracker.awaitsCompletion, awaits);
  }
});

Deno.test("SendTracker.completed() counts no more than was posted", () => {
  const tracker = new SendTracker();
  tracker.posted(1);
  tracker.completed(5);
  tracker.posted(1);
  assertEquals(tracker.isUnderWay(2), true);
});

Deno.test("SendTracker destroys a disposed resource when its send is done, not before", () => {
  const tracker = new SendTracker();
  tracker.posted(3);
  const [first, last] = [new Used(tracker, 1), new Used(tracker, 3)];
  last.close();
  first.close();
  assertEquals([first.destroyed, last.destroyed], [false, false]);
  tracker.completed(1);
  assertEquals([first.destroyed, last.destroyed], [true, false]);
  tracker.completed(1);
  assertEquals(last.destroyed, false);
  tracker.completed(1);
  assertEquals(last.destroyed, true);
});

Deno.test("SendTracker.ended() destroys all that was disposed, of unsignaled sends too", () => {
  const tracker = new SendTracker();
  tracker.posted(1);
  const signaled = new Used(tracker, 1);
  const unsignaled = new Used(tracker, 2);
  signaled.close();
  unsignaled.close();
  tracker.ended();
  assertEquals([signaled.destroyed, unsignaled.destroyed], [true, true]);
  assertEquals(tracker.isUnderWay(tracker.posted(1) + 1), true);
});
