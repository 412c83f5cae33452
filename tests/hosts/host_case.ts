/** What a case of two hosts consists of. */

import type { Stream } from "./expected.ts";
import type { Session } from "./session.ts";

/** What a side of a case works with. */
export interface Run {
  readonly session: Session;
  /** How many messages each case sends. */
  readonly messages: number;
  /** Counts messages that arrived. */
  count(messages: number): void;
  /** Notes what a queue pair sent: the packets must be so. */
  expect(stream: Stream): void;
}

/** A case. Both sides run at the same time. */
export interface HostCase {
  readonly name: string;
  /** What the first host does. */
  readonly first: (run: Run) => Promise<void>;
  /** What the second host does. */
  readonly second: (run: Run) => Promise<void>;
  /** Whether the second host is gone afterwards. Such a case is the last one. */
  readonly isLast?: boolean;
}
