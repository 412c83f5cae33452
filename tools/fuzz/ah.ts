/** Addresses of senders, compared with those of C on a device. */

import { runInGuest } from "../guest/run.ts";
import { inProject } from "../host/paths.ts";
import { NONE, type Target } from "./target.ts";

/** A device is needed to look up GIDs. */
const PAIRS = 1_000_000;

/** For an emulated guest. */
const SECONDS = 3000;

/** Completions and GRHs: C, ReplyPath and initAhFromWc() give the same address, bit by bit. */
export const AH: Target = {
  name: "ah",
  what: `in a guest: ${PAIRS} completions and GRHs, compared with ibv_init_ah_from_wc in C`,
  refused: NONE,
  inGuest: true,
  run: async ({ seed, rounds = PAIRS }) => {
    const program = inProject("tools/fuzz/in_guest.ts");
    const command = ["deno", "run", "--allow-all", program, String(seed), String(rounds)];
    const status = await runInGuest(command, { timeout: SECONDS });
    const finding = status === 0 ? undefined : "differs, or could not be compared: see above";
    return { cases: rounds, rounds, refused: 0, finding };
  },
};
