/** Addresses of senders, compared with those of C on a device: a test of the device tier, with more pairs. */

import { runInGuest } from "../guest/run.ts";
import { stdArguments } from "../host/jsr.ts";
import { NONE, type Target } from "./target.ts";

const PAIRS = 1_000_000;
const TEST = "tests/device/reply/reply_path_differential_test.ts";

/** For an emulated guest. */
const SECONDS = 3000;

/** Completions and GRHs: C and ReplyPath give the same address, bit by bit. */
export const AH: Target = {
  name: "ah",
  what: `in a guest: ${PAIRS} completions and GRHs, compared with ibv_init_ah_from_wc in C`,
  refused: NONE,
  inGuest: true,
  run: async ({ seed, rounds = PAIRS }) => {
    const options = ["--allow-all", "--no-check", "--filter=generated", ...await stdArguments()];
    const env = { IBVERBS_PAIRS: String(rounds), IBVERBS_SEED: String(seed) };
    const status = await runInGuest(["deno", "test", ...options, TEST], { timeout: SECONDS, env });
    const finding = status === 0 ? undefined : "differs, or could not be compared: see above";
    return { cases: rounds, rounds, refused: 0, finding };
  },
};
