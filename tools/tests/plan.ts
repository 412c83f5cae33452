/** Which tests run, where and how often. */

import { inProject, project } from "../host/paths.ts";
import { exists, SetupError } from "../host/setup.ts";
import { testFiles } from "./files.ts";

/** The folders of tests: those of the library, and those of each package. */
export const TESTS = ["tests", "cli/tests", "rxe/tests"] as const;

/** The folders in each of them, in the order in which they run. */
export const TIERS = ["pure", "library", "device", "project"] as const;

export type Tier = typeof TIERS[number];

/** A tier that runs once. */
export interface Pass {
  tier: Tier;
  /** Files or folders, from the project's folder. */
  paths: string[];
  env: Record<string, string>;
}

/** Tests of the first two tiers that take seconds each. */
const LONG = [
  "tests/pure/docs/symbols_test.ts",
  "tests/pure/examples/example_command_lines_test.ts",
  "rxe/tests/pure/run_test.ts",
  "cli/tests/library/",
  "tests/library/caller_test.ts",
  "tests/library/cm/failures_test.ts",
  "tests/library/event_loop/hammer_test.ts",
  "tests/library/event_loop/replaced_clocks_test.ts",
  "tests/library/examples/own_project_test.ts",
  "tests/library/faults/",
  "tests/library/layout_test.ts",
  "tests/library/memory/forgotten_test.ts",
  "tests/library/misuse/",
  "tests/library/net/end_test.ts",
  "tests/library/net/rc_killed_test.ts",
  "tests/library/net/unload_test.ts",
  "tests/library/permission_test.ts",
  "tests/library/permissions/",
  "tests/library/refusals_test.ts",
  "tests/library/reply/reply_bound_test.ts",
  "tests/library/shm/",
  "tests/library/testing_test.ts",
  "tests/library/threads_test.ts",
  "tests/library/thunks_test.ts",
  "tests/library/tools/",
  "tests/library/where_it_runs_test.ts",
  "tests/library/worker_descriptors_test.ts",
];

/**
 * What seldom changes, or takes minutes: "deno task long rare" runs these, and .ci/run does. Those that are not of a project
 * run with all others too, and do less then.
 */
const RARE = [
  "tests/device/cm/connection_test.ts",
  "tests/device/efa/net_test.ts",
  "tests/device/lifetime/watch_test.ts",
  "tests/device/net/ud_outage_test.ts",
];
/** The variable by which they know. */
export const RARE_VARIABLE = "IBVERBS_RARE";

/**
 * Tests that run once where all others run twice. The first ones call no verb. The others are of what is written on the
 * public API: they reach verbs through the classes, whose own tests run twice.
 */
const ONCE = [
  "tests/library/import_test.ts",
  "tests/library/layout_test.ts",
  "tests/library/tools/",
  "cli/tests/device/",
  "tests/device/docs/",
  "tests/device/examples/",
  "tests/device/net/",
];

export interface Choice {
  /** Files or folders that hold tests or are within such a folder; all tests but those of projects when empty. */
  paths: string[];
  /** Runs what reaches native code twice, through thunks and without. Of all tests it leaves out those of ONCE. */
  both: boolean;
  /** Leaves out what needs a device or takes long. */
  quick?: boolean;
  /** Runs those of RARE in place of all. */
  rare?: boolean;
}

export function plan({ paths, both, quick = false, rare = false }: Choice): Pass[] {
  const all = paths.length === 0;
  const chosen = !all
    ? paths.map(fromProject)
    : rare
    ? [...RARE, ...foldersOf("project")]
    : [...TESTS];
  for (const path of chosen) check(path);
  const tiers = TIERS.slice(0, quick ? 2 : all && !rare ? 3 : undefined);
  return tiers.flatMap((tier): Pass[] => {
    const within = chosen.flatMap((path) => partsIn(path, tier));
    if (quick) return passOf(tier, without(LONG, within));
    if (!both || tier === "pure" || tier === "project") return passOf(tier, within);
    return [
      ...passOf(tier, within, "on"),
      ...passOf(tier, all ? without(ONCE, within) : within, "off"),
    ];
  });
}

function passOf(tier: Tier, paths: string[], thunks?: string): Pass[] {
  if (paths.length === 0) return [];
  return [{ tier, paths, env: thunks === undefined ? {} : { IBVERBS_THUNKS: thunks } }];
}

/** The test files in some paths that are not in others. */
function without(others: readonly string[], paths: readonly string[]): string[] {
  return testFiles(paths).filter((file) => !others.some((path) => file.startsWith(path)));
}

function fromProject(path: string): string {
  return path.replace(`${project}/`, "").replace(/^(\.\/)+/, "").replace(/\/+$/, "");
}

function check(path: string): void {
  if (!TIERS.some((tier) => partsIn(path, tier).length > 0)) {
    const folders = TESTS.map((folder) => `${folder}/{${TIERS}}`).join(", ");
    throw new SetupError(`Cannot test "${path}": it is in none of ${folders}`);
  }
  if (!exists(inProject(path))) {
    throw new SetupError(`Cannot test "${path}": there is no such file or folder`);
  }
}

/** The folders of a tier, of those that exist. */
export function foldersOf(tier: Tier): string[] {
  return TESTS.map((folder) => `${folder}/${tier}`).filter((path) => exists(inProject(path)));
}

/** What of a path belongs to a tier. */
function partsIn(path: string, tier: Tier): string[] {
  return foldersOf(tier).flatMap((folder) => part(path, folder));
}

/** What of a path belongs to a folder: the path, the folder when it is within the path, or nothing. */
function part(path: string, folder: string): string[] {
  if (`${path}/`.startsWith(`${folder}/`)) return [path];
  return folder.startsWith(`${path}/`) ? [folder] : [];
}
