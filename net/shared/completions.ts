import { Loop, type Task } from "../../wait/loop.ts";
import { state } from "../../wait/state.ts";
import type { CompletionQueue } from "../../mod.ts";

/** The most completions of a poll. */
export const BATCH = 64;

/** Reads the completions of a queue, which has a channel of its own. */
export function loopOf(cq: CompletionQueue, task: Omit<Task, "arm" | "bell">): Loop {
  return new Loop({ ...state.bellOf(cq), ...task });
}
