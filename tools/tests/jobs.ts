/** What passes of tests consist of: starts of `deno test`, some of them at once. */

import { tracing } from "../coverage/called.ts";
import type { System } from "../../rxe/guest/parts.ts";
import { stdArguments } from "../host/jsr.ts";
import { inProject, out } from "../host/paths.ts";
import { pathWithEmulator } from "./emulator.ts";
import { guestCount, shares, sharesOf, testFiles } from "./files.ts";
import type { Pass } from "./plan.ts";

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
  /** Jobs of one runner run one after the other, or some at once; those of different runners run at once. */
  readonly runner: string;
  readonly inGuest: boolean;
  /** What follows `deno test`, without the report's option. */
  readonly args: readonly string[];
  readonly report: string;
  readonly env: Readonly<Record<string, string>>;
}

/** What runs on this host and does not use its device. */
const HERE = "here";
/** What runners of guests begin with. */
const GUEST = "guest ";

/** How many jobs of a runner run at once: two of this host keep two processors busy. */
export function atOnce(runner: string): number {
  return runner === HERE ? 2 : 1;
}

// Long enough that starts cost little, and short enough that both processors are busy to the end.
const PART_SECONDS = 30;

export async function jobsOf({ tier, paths, env }: Pass, setting: Setting): Promise<Job[]> {
  const options = ["--no-check", "--allow-all", "--v8-flags=--expose-gc", ...await stdArguments()];
  const mode = env.IBVERBS_THUNKS;
  const isTraced = setting.traced && (tier === "library" || tier === "device");
  const job = (where: string, runner: string, part: string, what: readonly string[]): Job => {
    const name = [tier, mode, part].filter((word) => word).join("-");
    const trace = isTraced ? tracing(name) : { args: [], env: {} };
    return {
      title: `${tier} tests, ${where}${mode === undefined ? "" : `, IBVERBS_THUNKS=${mode}`}`,
      runner,
      inGuest: runner.startsWith(GUEST),
      args: [...options, ...trace.args, ...setting.extra, ...what],
      report: `${out}/junit-${name}.xml`,
      env: { ...env, ...trace.env },
    };
  };
  const here = "on this host";
  const files = testFiles(paths);
  if (tier === "library" && files.length > 0) {
    const PATH = await pathWithEmulator();
    return sharesOf(files, PART_SECONDS).map((share, i, { length }) => {
      const where = length === 1 ? here : `${here}, part ${i + 1} of ${length}`;
      const one = job(where, HERE, length === 1 ? "" : String(i + 1), share);
      return { ...one, env: { ...one.env, PATH } };
    });
  }
  if (tier !== "device") return [job(here, HERE, "", paths)];
  const share = [inProject("tools/tests/share.ts"), "--"];
  if (!setting.guest) return [job(here, "device", "", [...share, ...files])];
  const count = guestCount(files.length);
  return shares(files, count).map((files, i) => {
    const part = String(i + 1);
    return job(`in guest ${part} of ${count}`, GUEST + part, part, [...share, ...files]);
  });
}
