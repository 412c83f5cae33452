import { causeOf, type Causes } from "../core/causes.ts";

/** Returns the likely cause of a failed completion by the name of its status. */
type Hint = (code: string) => string | undefined;

/**
 * The hints of queue pairs by their numbers, which is all that a completion has. `null` means that queue pairs of
 * several devices have the number.
 */
const HINTS = new Map<number, Hint | null>();

/** Lets completions of a queue pair ask it for the cause of a failure, until it is destroyed. */
export function registerFailing(qpNum: number, hint: Hint): void {
  HINTS.set(qpNum, HINTS.has(qpNum) ? null : hint);
}

export function unregisterFailing(qpNum: number): void {
  HINTS.delete(qpNum);
}

/** The likely cause of a failed completion. */
export function hintFailure(qpNum: number, code: string): string | undefined {
  return HINTS.get(qpNum)?.(code) ?? causeOf(USUAL_CAUSES, code, {});
}

/** The usual causes of statuses. */
export const USUAL_CAUSES: Causes = [
  [
    "LOC_LEN_ERR",
    "The message does not fit into the posted buffer. On UD the buffer needs 40 more bytes for the GRH",
  ],
  [
    "LOC_QP_OP_ERR",
    "The queue pair could not execute the request. A receive must be large enough for the message, on UD with 40 more bytes for " +
    "the GRH. Memory must be alive, with that lkey, of the queue pair's protection domain, and with LOCAL_WRITE if something is " +
    "written to it; on UD the address handle, too, must be alive. LOCAL_INV needs an rkey that is valid",
  ],
  ["LOC_PROT_ERR", "A buffer is not within a live memory region that has the access it needs"],
  [
    "WR_FLUSH_ERR",
    "The queue pair was in an error state before it reached this request: the first failed completion has the cause, " +
    "unless the program itself has moved it to ERR",
  ],
  [
    "MW_BIND_ERR",
    "The memory region needs MW_BIND. A window of type 2 that is bound must be invalidated first (LOCAL_INV)",
  ],
  ["LOC_ACCESS_ERR", "The local memory region lacks the access that the request needs"],
  [
    "REM_INV_REQ_ERR",
    "The peer refused the request: its queue pair may not allow the operation (qpAccessFlags) or the length, or its " +
    "receive is too small",
  ],
  [
    "REM_ACCESS_ERR",
    "The peer's memory region does not allow this access, is closed, or its program has ended; or the rkey " +
    "or the address is wrong",
  ],
  [
    "REM_OP_ERR",
    "The peer could not execute the request: its receive may be too small, or the memory of it closed or without " +
    "LOCAL_WRITE. Its own completion has the cause",
  ],
  [
    "RETRY_EXC_ERR",
    "The peer did not answer: its program may have ended, its queue pair may not be ready or may have been " +
    "reset, or the path may be wrong (GID, LID, MTU). On soft-RoCE it may as well have no receive posted",
  ],
  ["RNR_RETRY_EXC_ERR", "The peer had no receive posted, rnrRetry times"],
];
