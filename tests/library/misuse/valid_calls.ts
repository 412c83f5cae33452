// What the valid calls show: of it the misuses are made.

import { readApi } from "../registry/api.ts";
import { idle, takeVerbs } from "../registry/recorder_device.ts";
import {
  allCalls,
  type Call,
  disposeResult,
  gaps,
  invoke,
  type Path,
  pathsOf,
} from "../registry/calls.ts";
import { contextOps, reaches } from "./cases.ts";
import { ObjectSet } from "../registry/object_set.ts";
import * as recorder from "../../provider/recorder.ts";

/** What each valid call shows. */
export type ValidCalls = Readonly<Record<string, Learned>>;

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

/** Makes each valid call once, and names it before. Returns also what they leave out: callables and verbs. */
export async function learnAll(
  begin: (name: string) => void,
): Promise<{ learned: ValidCalls; left: string[] }> {
  const learned: Record<string, Learned> = {};
  const failed: string[] = [];
  for (const call of allCalls()) {
    begin(call.name);
    learned[call.name] = await learn(call).catch((error) => {
      failed.push(`${call.name}: its valid call fails: ${error}`);
      return { paths: [], resources: [], needs: [], verbs: [] };
    });
  }
  return { learned, left: [...failed, ...gaps(readApi()), ...unreached(learned)] };
}

async function learn(call: Call): Promise<Learned> {
  recorder.reset();
  const set = new ObjectSet();
  try {
    const prepared = await call.prepare(set);
    const paths = pathsOf(prepared.args);
    const resources = set.resources.map(([name]) => name);
    const needs = takeVerbs();
    disposeResult(await invoke(call, prepared));
    return { paths, resources, needs, verbs: takeVerbs() };
  } finally {
    set.close();
    await idle();
  }
}

/** Functions of a provider that no valid call calls. */
function unreached(learned: ValidCalls): string[] {
  return contextOps()
    .filter((op) => !Object.values(learned).some((one) => reaches(one, op)))
    .map((op) => `No valid call reaches ${op}`);
}
