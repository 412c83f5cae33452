// What the processes of a run share: the API, and what its valid calls showed.

import { type Callable, readApi } from "../registry/api.ts";
import { idle, takeVerbs } from "../registry/bed.ts";
import {
  type Call,
  callsOf,
  disposeResult,
  gaps,
  invoke,
  type Path,
  pathsOf,
} from "../registry/calls.ts";
import { type Case, contextOps, matrix, reaches, validCases } from "./cases.ts";
import { World } from "../registry/world.ts";
import * as recorder from "../../provider/recorder.ts";

/** What a run is generated from. */
export interface Plan {
  readonly api: readonly Callable[];
  readonly learned: Lessons;
  /** What the valid calls leave out: callables and verbs. */
  readonly gaps: readonly string[];
}

/** What each valid call shows. */
export type Lessons = Readonly<Record<string, Learned>>;

/** What a valid call shows. */
export interface Learned {
  readonly paths: readonly Path[];
  /** The resources that exist when it is called, by name. */
  readonly resources: readonly string[];
  /** The verbs that make what it needs. */
  readonly needs: readonly string[];
  /** The verbs that it calls. */
  readonly verbs: readonly string[];
}

/** Reads the API, and makes each valid call once. `begin` is called before each. */
export async function makePlan(begin: (name: string) => void): Promise<Plan> {
  const api = readApi();
  const learned: Record<string, Learned> = {};
  const failed: string[] = [];
  for (const call of callsOf(api)) {
    begin(call.name);
    learned[call.name] = await learn(call).catch((error) => {
      failed.push(`${call.name}: its valid call fails: ${error}`);
      return { paths: [], resources: [], needs: [], verbs: [] };
    });
  }
  const found = [...failed, ...gaps(api), ...unreached(learned)];
  return { api, learned, gaps: found };
}

/** The valid calls of a plan. */
export function validOf({ api }: Plan): Case[] {
  return validCases(api);
}

/** The cases of a plan. */
export function casesOf(plan: Plan): Case[] {
  return [...validOf(plan), ...matrix(plan.api, plan.learned)];
}

/** A valid call takes less, even on a busy machine. */
export const PATIENCE_MS = 10_000;

async function learn(call: Call): Promise<Learned> {
  recorder.reset();
  const world = new World();
  try {
    const prepared = await call.prepare(world);
    const paths = pathsOf(prepared.args);
    const resources = world.resources.map(([name]) => name);
    const needs = takeVerbs();
    await returned((async () => disposeResult(await invoke(call, prepared)))());
    return { paths, resources, needs, verbs: takeVerbs() };
  } finally {
    world.close();
    await idle();
  }
}

async function returned(called: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error("it does not return")), PATIENCE_MS);
  try {
    await Promise.race([called, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Functions of a provider that no valid call calls. */
function unreached(learned: Lessons): string[] {
  return contextOps()
    .filter((op) => !Object.values(learned).some((one) => reaches(one, op)))
    .map((op) => `No valid call reaches ${op}`);
}
