import { assert, assertEquals } from "@std/assert";
import { SendsUnderWay } from "../../../types/address_handle/sends_under_way.ts";
import { SendTracker } from "../../../types/completion/send_tracker.ts";

/** A queue pair that has posted one send. */
function posted(): SendTracker {
  const tracker = new SendTracker();
  tracker.posted(1);
  return tracker;
}

Deno.test("SendsUnderWay forgets queue pairs whose sends are done", () => {
  const sends = new SendsUnderWay();
  for (let i = 0; i < 1000; i++) {
    const tracker = posted();
    sends.set(tracker, 1);
    tracker.completed(1);
    assert(sends.size <= 4, `it knows ${sends.size} queue pairs`);
  }
  assertEquals(sends.any(), undefined);
});

Deno.test("SendsUnderWay keeps every queue pair whose send is in progress", () => {
  const sends = new SendsUnderWay();
  const trackers = Array.from({ length: 100 }, posted);
  for (const tracker of trackers) sends.set(tracker, 1);
  assertEquals(sends.size, 100);
  for (const tracker of trackers.slice(0, 99)) tracker.completed(1);
  assertEquals(sends.any(), [trackers[99]!, 1]);
  trackers[99]!.completed(1);
  assertEquals(sends.any(), undefined);
});

Deno.test("SendsUnderWay knows the last send of a queue pair only", () => {
  const sends = new SendsUnderWay();
  const tracker = posted();
  sends.set(tracker, 1);
  tracker.posted(1);
  sends.set(tracker, 2);
  tracker.completed(1);
  assertEquals(sends.any()?.[1], 2);
  tracker.completed(1);
  assertEquals(sends.any(), undefined);
});
