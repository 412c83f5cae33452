import { nextTurn, readInTurns } from "../../internal/turns.ts";
import type { CompletionQueue } from "../../mod.ts";

export interface Pumping {
  readonly cq: CompletionQueue;
  /** Reads completions without waiting. Returns how many there were. */
  readonly drain: () => number;
  readonly isOpen: () => boolean;
  /** Whether somebody waits for completions. */
  readonly isAwaited: () => boolean;
  /** Empty polls before it waits for an event, while somebody waits. */
  readonly spin: number;
  /** Lets others run, after completions were read or an event has come. */
  readonly rest: () => Promise<void> | undefined;
  readonly signal: AbortSignal;
}

/** The program stays alive for the events of a queue only while somebody waits for its completions. */
export function hold(
  { cq, isOpen, isAwaited }: Pick<Pumping, "cq" | "isOpen" | "isAwaited">,
): void {
  if (!isOpen()) return;
  if (isAwaited()) cq.channel!.ref();
  else cq.channel!.unref();
}

export async function pump(pumping: Pumping): Promise<void> {
  const { cq, drain, isAwaited, isOpen, rest, signal } = pumping;
  const read = (): void => void (isAwaited() && drain());
  while (isOpen()) {
    if (drain() === 0 && !await poll(pumping)) {
      if (!isOpen()) return;
      hold(pumping);
      cq.reqNotify();
      // A completion before the arming makes no event.
      if (drain() === 0) await readInTurns(read, cq.channel!.getCqEvent({ signal }));
    }
    if (!isOpen()) return;
    // An event that is waited for again in the same turn of the event loop saves the watcher a system call.
    const resting = rest();
    if (resting !== undefined) await resting;
  }
}

/**
 * Polls for a while. Returns whether there was something. After each poll the event loop turns: another connection of the
 * process, which may be the one that answers, polls then.
 */
async function poll({ drain, isAwaited, spin }: Pumping): Promise<boolean> {
  for (let polls = 1; polls <= spin && isAwaited(); polls++) {
    if (drain() > 0) return true;
    await nextTurn();
  }
  return false;
}
