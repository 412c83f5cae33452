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
