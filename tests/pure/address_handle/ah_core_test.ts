import { assert, assertEquals } from "@std/assert";
import { type AddressHandle, AhCore } from "../../../types/address_handle/address_handle.ts";
import type { ProtectionDomain } from "../../../types/memory/protection_domain.ts";
import { SendTracker } from "../../../types/completion/send_tracker.ts";

/** A queue pair that has posted one send. */
function posted(): SendTracker {
  const tracker = new SendTracker();
  tracker.posted(1);
  return tracker;
}

function core(address = 0n): AhCore {
  return new AhCore({} as AddressHandle, {} as ProtectionDomain, address);
}

Deno.test("AhCore writes its address in halves, lower half first", () => {
  const words = new Uint32Array(4);
  core(0x1234_5678_9abc_def0n).write(words, 1);
  assertEquals([...words], [0, 0x9abc_def0, 0x1234_5678, 0]);
});

Deno.test("AhCore forgets queue pairs whose sends are done", () => {
  const ah = core();
  let asked = 0;
  for (let i = 0; i < 1000; i++) {
    const tracker = posted();
    const isUnderWay = tracker.isUnderWay.bind(tracker);
    tracker.isUnderWay = (number) => {
      asked++;
      return isUnderWay(number);
    };
    ah.noteSend(tracker, 1);
    tracker.completed(1);
  }
  asked = 0;
  assertEquals(ah.sendUnderWay(), undefined);
  assert(asked <= 5, `it knew ${asked} queue pairs`);
});

Deno.test("AhCore asks a queue pair once, however often it sends", () => {
  const ah = core();
  const tracker = posted();
  for (let i = 0; i < 3; i++) ah.noteSend(tracker, 1);
  tracker.completed(1);
  const asked: number[] = [];
  tracker.isUnderWay = (number) => asked.push(number) === 0;
  assertEquals([ah.sendUnderWay(), asked], [undefined, [1]]);
});

Deno.test("AhCore keeps every queue pair whose send is in progress", () => {
  const ah = core();
  const trackers = Array.from({ length: 100 }, posted);
  for (const tracker of trackers) ah.noteSend(tracker, 1);
  const [first, ...others] = trackers;
  for (const tracker of others) tracker.completed(1);
  assertEquals(ah.sendUnderWay(), { tracker: first!, number: 1 });
  first!.completed(1);
  assertEquals(ah.sendUnderWay(), undefined);
});

Deno.test("AhCore knows the last send of a queue pair only", () => {
  const ah = core();
  const [tracker, other] = [posted(), posted()];
  other.completed(1);
  for (const [by, number] of [[tracker, 1], [other, 1], [tracker, 2], [other, 1]] as const) {
    ah.noteSend(by, number);
  }
  tracker.posted(1);
  tracker.completed(1);
  assertEquals(ah.sendUnderWay()?.number, 2);
  tracker.completed(1);
  assertEquals(ah.sendUnderWay(), undefined);
});
