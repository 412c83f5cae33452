import { nextTurn } from "./turns.ts";

/** Runs tasks one after the other. Between two of them the event loop runs. */
export class Line {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs a task when all earlier ones have ended. */
  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#last.then(nextTurn).then(task);
    this.#last = result.catch(() => {});
    return result;
  }
}
