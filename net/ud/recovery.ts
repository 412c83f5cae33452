import { QpState, WcStatus, type WorkCompletionError } from "../../mod.ts";

/** What a recovery works on. Each step may throw. */
export interface RecoveryParts {
  /** Asks the device for the state of the queue pair. */
  readonly state: () => QpState;
  /** Starts the send queue again: an error has stopped it, and not the receive queue. */
  readonly resume: () => void;
  /** Moves the queue pair to RESET: nothing is in progress any more. */
  readonly reset: () => void;
  /** Reads the completions that are left, those of failed requests too. */
  readonly drain: () => void;
  /** Moves the queue pair from RESET to RTS. */
  readonly activate: () => void;
  /** Counts what was in progress as lost, and posts receives again. */
  readonly restart: () => void;
  /** Makes address handles again. */
  readonly refresh: () => void;
  /** Lets those go on who wait to send. */
  readonly serve: () => void;
  /** Tells the program of an outage. It gets the first error. */
  readonly warn: (cause: WorkCompletionError) => void;
  /** Nothing works any more. */
  readonly fail: (reason: unknown) => void;
}

/**
 * Brings a queue pair back after a request has failed. An outage is the time from the first reset until something is sent
 * or received again. Further resets in it give no warning.
 */
export class Recovery {
  /** How often the queue pair was reset. */
  resets = 0;
  readonly #parts: RecoveryParts;
  /** Why something failed since the last success. */
  #cause: WorkCompletionError | undefined;
  #isOutage = false;
  #isRunning = false;

  /** Waits for a failure. */
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
      const state = this.#parts.state();
      if (state === QpState.ERR) this.#restart();
      else if (state === QpState.SQE) this.#parts.resume();
    });
  }

  /** A receive has failed: the queue pair completes no receive any more. */
  recvFailed(cause: WorkCompletionError): void {
    this.#run(cause, () => this.#restart());
  }

  #run(cause: WorkCompletionError, recover: () => void): void {
    // A flushed request tells that another one has failed, and not why.
    if (this.#cause === undefined || isFlush(this.#cause)) this.#cause = cause;
    // The failures that the recovery itself reads are of the same outage.
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      recover();
      this.#parts.refresh();
    } catch (error) {
      return this.#parts.fail(error);
    } finally {
      this.#isRunning = false;
    }
    this.#parts.serve();
  }

  #restart(): void {
    const { reset, drain, activate, restart, warn } = this.#parts;
    this.resets++;
    // Some devices remove the completions of a queue pair when it is reset: what was received is read before.
    drain();
    reset();
    // With old completions in the queue, those of new receives could overrun it.
    drain();
    activate();
    restart();
    if (this.#isOutage) return;
    this.#isOutage = true;
    warn(this.#cause!);
  }
}

function isFlush({ completion }: WorkCompletionError): boolean {
  return completion.status === WcStatus.WR_FLUSH_ERR;
}
