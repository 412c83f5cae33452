// The recorder as a bed. Import this before anything that calls a verb.

import * as recorder from "../../../provider/recorder.ts";
import { QpState } from "../../../../mod.ts";
import { handleAddress } from "../../../../ffi/mod.ts";
import type { Bed } from "./bed.ts";

/** Every verb succeeds on it, and it knows what each one is called with. */
export const RECORDER: Bed = {
  device: "recorder0",
  moves: false,
  ahAttr: () => ({ portNum: 1, dlid: 7 }),
  activate(qp): void {
    for (const qpState of [QpState.RTR, QpState.RTS]) qp.modify({ qpState });
  },
  complete(cq): void {
    // Workers share the recorder, so the first queue here can have any number.
    for (let i = 0;; i++) {
      const label = `cq${i}` as const;
      if (handleAddress(recorder.pointerTo(label) as never) !== handleAddress(cq.unsafeHandle)) {
        continue;
      }
      recorder.complete(label, { wr_id: 1n, status: 0, opcode: 128 });
      return;
    }
  },
  reset: recorder.reset,
  live: recorder.live,
  violations: recorder.violations,
  delay: recorder.delay,
  verbs: () => [...new Set(recorder.take().map(({ verb }) => verb))],
  fail: (verb, errno, result) =>
    recorder.fail(verb, errno, { times: 1, ...result !== undefined && { result } }),
};
