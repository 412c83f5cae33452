// Misuses that only a recorder makes possible: stray completions and events.
// Import the recorder before this.

import { EventType, WcOpcode, WcStatus } from "../../../mod.ts";
import * as recorder from "../../provider/recorder.ts";
import type { Case } from "./cases.ts";

/** Misuses that need a recorder. */
export function scenarios(): Case[] {
  return [...strayCompletions(), ...strayEvents()];
}

function strayCompletions(): Case[] {
  const values = [0, 1, 127, 128, 129, 255, 0x7fff_ffff, 0xffff_ffff];
  return [...Object.values(WcStatus), 99, 0xffff_ffff].flatMap((status) =>
    [...Object.values(WcOpcode), 77, 0xffff_ffff].map((opcode): Case => ({
      what: "stray completion",
      id: `A completion of an unknown queue pair has status ${status} and opcode ${opcode}`,
      run: ({ cq, cqEx, ud, batch, batchEx, mr, ah }) => {
        ud.postSend({ sge: mr.sge(0, 8), ah, remoteQpn: 1, remoteQkey: 1 });
        for (const qp_num of [...values, ud.qpNum]) {
          for (const label of ["cq0", "cq1"]) {
            recorder.complete(label, {
              wr_id: 2n ** 64n - 1n,
              status,
              opcode,
              qp_num,
              byte_len: 5,
            });
          }
        }
        ah.close();
        const seen = [...cq.poll(3), ...cqEx.poll(3)];
        seen.forEach((wc) => [wc.ok, Deno.inspect(wc)]);
        for (const queue of [cq, cqEx]) queue.pollInto(batch);
        cqEx.pollInto(batchEx);
        [...batch, ...batchEx].forEach((wc) => Deno.inspect(wc));
        if (seen[0]!.ok) return;
        return seen[0]!.check();
      },
    }))
  );
}

function strayEvents(): Case[] {
  const types = [...Object.values(EventType), 77, 0xffff];
  return types.flatMap((type) =>
    ["cq0", "qp0", "wq0", "srq0", 1, 0, 255].map((of): Case => ({
      what: "stray event",
      id: `An event of type ${type} is of ${of}`,
      run: async (set) => {
        const { context, cq, ud, wq, srq } = set;
        const events = context.events();
        const first = events.next();
        for (const resource of [cq, ud, wq, srq].slice(0, Number(type) % 3)) resource.close();
        if (typeof of === "number" || recorder.live(of.replace(/\d+$/, "")) > 0) {
          try {
            recorder.sendAsyncEvent(type, of);
          } catch {
            // The recorder refuses events of objects that ended.
          }
        }
        const turn = new Promise((resolve) => setTimeout(resolve, 5));
        await Promise.race([first, turn]);
        first.catch(() => {});
        context.close();
        await first.catch(() => {});
        if (recorder.unacknowledged() > 0) throw new Error("An event was not acknowledged");
      },
    }))
  );
}
