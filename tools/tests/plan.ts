/** Which tests run, where and how often. */

import { inProject, project } from "../host/paths.ts";
import { SetupError } from "../../rxe/host/report.ts";
import { exists } from "../../rxe/host/shell.ts";
import { testFiles } from "./files.ts";

/** The folders of tests, in the order in which they run. */
export const TIERS = ["pure", "library", "device", "project"] as const;

/** A folder of tests. */
export type Tier = typeof TIERS[number];

/** A tier that runs once. */
export interface Pass {
  tier: Tier;
  /** Files or folders, from the project's folder. */
  paths: string[];
  env: Record<string, string>;
}

/** Tests of the first two tiers that take seconds each, and what tests programs for CI. */
const LONG = [
  "tests/library/faults/",
  "tests/library/layout_test.ts",
  "tests/library/misuse/",
  "tests/library/permissions/",
  "tests/library/tools/",
];

/** What the user asks for. */
export interface Choice {
  /** Files or folders, `tests` or below it; all tests when empty. */
  paths: string[];
  /** Runs what reaches native code twice, through thunks and without. */
  both: boolean;
  /** Leaves out what needs a device or takes long. */
  quick?: boolean;
}

/** The passes for a choice. */
export function plan({ paths, both, quick = false }: Choice): Pass[] {
  const chosen = paths.length === 0 ? ["tests"] : paths.map(fromProject);
  for (const path of chosen) check(path);
  return TIERS.slice(0, quick ? 2 : undefined).flatMap((tier): Pass[] => {
    const parts = chosen.flatMap((path) => part(path, `tests/${tier}`));
    const within = quick ? testFiles(parts).filter(isShort) : parts;
    if (within.length === 0) return [];
    const twice = both && (tier === "library" || tier === "device");
    const modes = twice ? ["on", "off"] : [undefined];
    return modes.map((mode) => ({
      tier,
      paths: within,
      env: mode === undefined ? {} : { IBVERBS_THUNKS: mode },
    }));
  });
}

function isShort(file: string): boolean {
  return !LONG.some((path) => file.startsWith(path));
}

function fromProject(path: string): string {
  return path.replace(`${project}/`, "").replace(/^(\.\/)+/, "").replace(/\/+$/, "");
}

function check(path: string): void {
  if (!TIERS.some((tier) => part(path, `tests/${tier}`).length > 0)) {
    throw new SetupError(`Cannot test "${path}": it is in none of tests/${TIERS.join(", tests/")}`);
  }
  if (!exists(inProject(path))) {
    throw new SetupError(`Cannot test "${path}": there is no such file or folder`);
  }
}

/** What of a path belongs to a folder: the path, the folder when it is within the path, or nothing. */
function part(path: string, folder: string): string[] {
  if (`${path}/`.startsWith(`${folder}/`)) return [path];
  return folder.startsWith(`${path}/`) ? [folder] : [];
}
