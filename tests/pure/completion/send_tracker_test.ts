import { assertEquals } from "@std/assert";
import type { Handle } from "../../../ffi/handles.ts";
import { Resource } from "../../../types/core/resource.ts";
import { SendTracker } from "../../../types/completion/send_tracker.ts";

/** Something that sends of one tracker use. */
class Used extends Resource {
  protected override readonly kind = "used";
  readonly #tracker: SendTracker;
  readonly #number: number;
  destroyed = false;

  constructor(tracker: SendTracker, number: number) {
    super({} as Handle, []);
    this.#tracker = tracker;
    this.#number = number;
  }

  protected override isInUse(): boolean {
    if (!this.#tracker.isUnderWay(this.#number)) return false;
    this.#tracker.whenDone(this.#number, this);
    return true;
  }

  protected override destroy(): void {
    this.destroyed = true;
  }
}

Deno.test("SendTracker.posted() numbers sends by the signaled ones", () => {
  const tracker = new SendTracker();
  assertEquals(tracker.posted(3), 0);
  assertEquals(tracker.posted(0), 3);
  assertEquals(tracker.posted(2), 3);
  assertEquals(tracker.posted(1), 5);
});

Deno.test("SendTracker.isUnderWay() holds until the completion of that send", () => {
  const tracker = new SendTracker();
  tracker.posted(3);
  tracker.completed(1);
  assertEquals([1, 2, 3].map((number) => tracker.isUnderWay(number)), [false, true, true]);
  tracker.completed(2);
  assertEquals(tracker.isUnderWay(3), false);
  assertEquals(tracker.isUnderWay(4), true);
});

Deno.test("SendTracker.completed() counts no more than was posted", () => {
  const tracker = new SendTracker();
  tracker.posted(1);
  tracker.completed(5);
  tracker.posted(1);
  assertEquals(tracker.isUnderWay(2), true);
});

Deno.test("SendTracker destroys what was disposed when its send is done, and no sooner", () => {
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

Deno.test("SendTracker.ended() lets go of all that was posted, unsignaled sends too", () => {
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
