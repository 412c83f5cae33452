import { errno, errnoName } from "../../ffi/errno.ts";
import { SystemError } from "../../ffi/system_error.ts";
import type { Bell, Need, OnWake, Sleep } from "../../wait/bell.ts";
import { blockUntilReadable, setNonblocking, watchDescriptor } from "../../wait/descriptors.ts";
import { failure } from "./errors.ts";

/**
 * Makes reading a descriptor fail with EAGAIN while there is nothing to read.
 *
 * @throws {VerbsError} If the system refuses.
 */
export function makeNonblocking(fd: number): void {
  asVerbsError(() => setNonblocking(fd));
}

/** A descriptor that is readable while there are events. */
export class EventDescriptor implements Bell {
  readonly #fd: number;
  readonly #isSeldom: boolean;

  /**
   * The descriptor must be non-blocking. With `isSeldom` it is looked at only twice a second for waits that do not keep
   * the process alive.
   */
  constructor(fd: number, isSeldom: boolean = false) {
    this.#fd = fd;
    this.#isSeldom = isSeldom;
  }

  sleep(need: Need, wake: OnWake): Sleep {
    const onReady = (error?: SystemError): void => wake(error && toVerbsError(error));
    const { cancel, hold } = asVerbsError(() =>
      watchDescriptor(this.#fd, this.#own(need), onReady)
    );
    return { cancel, hold: (need) => hold(this.#own(need)) };
  }

  #own(need: Need): Need {
    return need === "often" && this.#isSeldom ? "seldom" : need;
  }

  sleepSync(until: number): boolean {
    return asVerbsError(() => blockUntilReadable(this.#fd, until));
  }
}

/** The result of a verb that has read no event: false, or the error if none will come. */
export function noEvent(verb: string): false {
  const value = errno();
  const code = errnoName(value);
  // Without its device the descriptor is readable forever, and no event comes.
  if (code !== "EAGAIN" && code !== "EINTR") throw failure(verb, "wait for event", value);
  return false;
}

/** Runs a function of the system, and turns its errors into a `VerbsError`. */
function asVerbsError<T>(body: () => T): T {
  try {
    return body();
  } catch (error) {
    throw toVerbsError(error);
  }
}

function toVerbsError(error: unknown): unknown {
  if (!(error instanceof SystemError)) return error;
  return failure(error.call, "watch descriptor", error.errno);
}
