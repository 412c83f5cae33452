import { errno, errnoName } from "../../ffi/errno.ts";
import type { SystemError } from "../../ffi/system_error.ts";
import type { Bell } from "../../wait/bell.ts";
import { DescriptorBell } from "../../wait/descriptors.ts";
import { failure, type VerbsError } from "./errors.ts";

/**
 * The descriptor of events, which rings while there are some. From now on reading it fails with EAGAIN while there are none.
 *
 * @throws {VerbsError} If the system refuses.
 */
export function bellOfEvents(fd: number): Bell {
  return new DescriptorBell(fd, toVerbsError);
}

/** The result of a verb that has read no event: 0, or the error if none will come. */
export function noEvent(verb: string): 0 {
  const value = errno();
  const code = errnoName(value);
  // Without its device the descriptor is readable forever, and no event comes.
  if (code !== "EAGAIN" && code !== "EINTR") throw failure(verb, "wait for event", value);
  return 0;
}

/** Turns an error of the system into a `VerbsError`. */
function toVerbsError({ call, errno }: SystemError): VerbsError {
  return failure(call, "watch descriptor", errno);
}
