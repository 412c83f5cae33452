import { QpState, type QueuePair, WcStatus, type WorkCompletionError } from "../../mod.ts";
import type { Receiver } from "./receiver.ts";
import type { Sender } from "./sender.ts";

export interface RecoveryParts {
  readonly qp: QueuePair;
  /** Moves the queue pair from RESET to RTS. */
  readonly activate: () => void;
  readonly queues: () => readonly [Receiver, Sender];
  readonly refresh: () => void;
  /** Reports an outage to the program, with its first error. */
  readonly warn: (cause: WorkCompletionError) => void;
}

/**
 * Brings a queue pair back after a request has failed. An outage is the time from the first reset until something is sent
 * or received again. Further resets in it give no warning.
 */
export class Recovery {
  resets = 0;
  readonly #parts: RecoveryParts;
  /** Why something failed since the last success. */
  #cause: WorkCompletionError | undefined;
  #isOutage = false;
  #isRunning = false;

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
  }

  /** Something was sent or received. What completed before a reset says nothing about the time after it. */
  succeeded(): void {
    if (this.#isRunning) return;
    this.#cause = undefined;
    this.#isOutage = false;
  }

  /** A send has failed. It stops the send queue, or the whole queue pair. */
  sendFailed(cause: WorkCompletionError): void {
    this.#run(cause, () => {
      const { qp } = this.#parts;
      const { qpState } = qp.query().attr;
      if (qpState === QpState.ERR) this.#restart();
      else if (qpState === QpState.SQE) {
        qp.modify({ curQpState: QpState.SQE, qpState: QpState.RTS });
      }
    });
  }

  /** A receive has failed: the queue pair completes no receive any more. */
  recvFailed(cause: WorkCompletionError): void {
    this.#run(cause, () => this.#restart());
  }

  #run(cause: WorkCompletionError, recover: () => void): void {
    // A flushed request says that another one has failed, but not why.
    if (this.#cause === undefined || isFlush(this.#cause)) this.#cause = cause;
    // The failures that the recovery itself reads are of the same outage.
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      recover();
      this.#parts.refresh();
    } catch (error) {
      for (const queue of this.#parts.queues()) queue.fail(error);
      return;
    } finally {
      this.#isRunning = false;
    }
    this.#parts.queues()[1].serve();
  }

  #restart(): void {
    const { qp, activate, queues, warn } = this.#parts;
    this.resets++;
    // Some devices remove the completions of a queue pair when it is reset: what was received is read before.
    for (const queue of queues()) queue.drain();
    qp.modify({ qpState: QpState.RESET });
    // With old completions in the queue, those of new receives could overrun it.
    for (const queue of queues()) queue.drain();
    activate();
    const [receiver, sender] = queues();
    receiver.restart();
    sender.restart(this.#cause);
    if (this.#isOutage) return;
    this.#isOutage = true;
    warn(this.#cause!);
  }
}

function isFlush({ completion }: WorkCompletionError): boolean {
  return completion.status === WcStatus.WR_FLUSH_ERR;
}
