// Runs one case with objects of its own.

import { disposeResult } from "../registry/calls.ts";
import { ObjectSet } from "../registry/object_set.ts";
import { type Case, VALID } from "./cases.ts";
import { verdict } from "./verdict.ts";

/** A valid call takes less, even on a busy machine. */
const PATIENCE_MS = 10_000;
/** More than one case takes. What waits for events waits until its object is disposed. */
const TURN_MS = 20;

/** How a case ended. */
export interface Attempt {
  readonly outcome: string;
  readonly wrong: string[];
  /** It is closed, unless that failed twice. */
  readonly set: ObjectSet;
}

/** Runs a case, and closes its objects. */
export async function attempt({ id, run }: Case): Promise<Attempt> {
  const set = new ObjectSet();
  const wrong: string[] = [];
  let outcome = "success";
  let isClosed = false;
  const isValid = id.endsWith(VALID);
  const settled = (async () => disposeResult(await run(set)))().catch((thrown) => {
    outcome = String(thrown?.name ?? typeof thrown);
    if (!isValid) wrong.push(...verdict(thrown, id));
    // Whoever still waits in a valid call learns that its objects have ended.
    else if (!isClosed) wrong.push(`Its valid call fails: ${thrown}`);
  });
  const turn = Promise.withResolvers<void>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  set.prepared.then(() => {
    timer = setTimeout(turn.resolve, isValid ? PATIENCE_MS : TURN_MS);
  });
  turn.promise.then(() => isValid && wrong.push("It does not return"));
  await Promise.race([settled, turn.promise]);
  clearTimeout(timer);
  isClosed = true;
  closeAll(set, wrong);
  await settled;
  return { outcome, wrong, set };
}

/** A verb that failed once may fail when its objects end. They are closed again then. */
export function closeAll(set: ObjectSet, wrong: string[]): void {
  try {
    set.close();
  } catch (error) {
    wrong.push(...verdict(error));
    try {
      set.close();
    } catch (second) {
      wrong.push(`Cannot close again: ${second}`);
    }
  }
}
