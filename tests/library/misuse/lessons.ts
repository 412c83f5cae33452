// What the processes of a run share: the API, and what its valid calls showed.

import { type Callable, readApi } from "./api.ts";
import {
  type Case,
  type Exports,
  gaps,
  learnAll,
  type Lessons,
  matrix,
  useModules,
  validCases,
} from "./cases.ts";
import * as cli from "../../../cli/mod.ts";
import * as ffi from "../../../ffi/mod.ts";
import * as net from "../../../net/mod.ts";
import * as verbs from "../../../mod.ts";

const EXPORTS: Exports = {
  "mod.ts": verbs,
  "net/mod.ts": net,
  "cli/mod.ts": cli,
  "ffi/mod.ts": ffi,
};

/** What a run is generated from. */
export interface Plan {
  readonly api: readonly Callable[];
  readonly learned: Lessons;
  /** What of the API has no valid call. */
  readonly gaps: readonly string[];
}

/** Reads the API, and makes each valid call once. */
export async function makePlan(): Promise<Plan> {
  useModules(EXPORTS);
  const api = await readApi();
  return { api, learned: await learnAll(api), gaps: gaps(api) };
}

/** The valid calls of a plan. */
export function validOf({ api }: Plan): Case[] {
  useModules(EXPORTS);
  return validCases(api);
}

/** The cases of a plan that every bed has. */
export function casesOf(plan: Plan): Case[] {
  return [...validOf(plan), ...matrix(plan.api, plan.learned)];
}
