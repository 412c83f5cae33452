/** What passes of tests consist of: starts of `deno test`, some of them at once. */

import { tracing } from "../coverage/called.ts";
import type { System } from "../../rxe/guest/parts.ts";
import { stdArguments } from "../host/jsr.ts";
import { inProject, out } from "../host/paths.ts";
import { pathWithEmulator } from "./emulator.ts";
import { guestCount, shares, testFiles } from "./files.ts";
import type { Pass, Tier } from "./plan.ts";

/** How the passes are run. */
export interface Setting {
  /** Runs the device tier in guests, with rxe and the stub HCA. */
  readonly guest: boolean;
  /** Further arguments for `deno test`. */
  readonly extra: readonly string[];
  /** Tests note the verbs that they call. */
  readonly traced: boolean;
  /** Shows a line for each file, and failures. */
  readonly brief: boolean;
  /** That of the guests; their usual one by default. */
  readonly system?: System;
}

export interface Job {
  readonly title: string;
  /** Jobs of one lane run one after the other, those of different lanes at once. */
  readonly lane: string;
  readonly inGuest: boolean;
  /** What follows `deno test`, without the report's option. */
  readonly args: readonly string[];
  readonly report: string;
  readonly env: Readonly<Record<string, string>>;
}

/** On this host two processors are busy with the first two tiers; projects come after them. */
const LANES: Readonly<Record<Tier, string>> = {
  pure: "first",
  library: "second",
  device: "device",
  project: "first",
};

export async function jobsOf({ tier, paths, env }: Pass, setting: Setting): Promise<Job[]> {
  const options = ["--no-check", "--allow-all", "--v8-flags=--expose-gc", ...await stdArguments()];
  const mode = env.IBVERBS_THUNKS;
  const isTraced = setting.traced && (tier === "library" || tier === "device");
  const job = (where: string, part: string, what: readonly string[]): Job => {
    const name = [tier, mode, part].filter((word) => word).join("-");
    const trace = isTraced ? tracing(name) : { args: [], env: {} };
    return {
      title: `${tier} tests, ${where}${mode === undefined ? "" : `, IBVERBS_THUNKS=${mode}`}`,
      lane: LANES[tier] + part,
      inGuest: part !== "",
      args: [...options, ...trace.args, ...setting.extra, ...what],
      report: `${out}/junit-${name}.xml`,
      env: { ...env, ...trace.env },
    };
  };
  const here = "on this host";
  if (tier === "library") {
    const one = job(here, "", paths);
    return [{ ...one, env: { ...one.env, PATH: await pathWithEmulator() } }];
  }
  if (tier !== "device") return [job(here, "", paths)];
  const share = [inProject("tools/tests/share.ts"), "--"];
  const files = testFiles(paths);
  if (!setting.guest) return [job(here, "", [...share, ...files])];
  const count = guestCount(files.length);
  return shares(files, count).map((files, i) =>
    job(`in guest ${i + 1} of ${count}`, String(i + 1), [...share, ...files])
  );
}
