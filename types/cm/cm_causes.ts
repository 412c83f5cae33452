import type { Causes } from "../core/causes.ts";

/** Why the kernel does not know the request of a peer any more. */
export const REQUEST_CAUSES: Causes = [
  ["EINVAL", "The peer has taken back its request, or has gone"],
];

/** Why an event of the program's own is refused. */
export const EVENT_CAUSES: Causes = [["EINVAL", "Linux 6.17 and newer have it"]];
