/** The kinds of ping-pongs, each with the options and the output of a C tool. */

import { QpType } from "@rdma/ibverbs";
import type { EndpointKind } from "../peer/endpoint.ts";
import { type Choice, MAX_QUEUE_PAIRS, type Options } from "../peer/options.ts";
import { UsageError } from "../shell/command.ts";

export interface Kind extends Choice, EndpointKind {
  /** What it does, for the help. */
  readonly summary: string;
  /** What the C tool prints before its own GID. */
  readonly separator: ":" | ",";
  /** The number of frames in the exchange of addresses, if it is not the number of queue pairs. */
  readonly frames?: number;
  /** Refuses options that do not fit together. */
  readonly check?: (options: Options) => void;
}

const NUMBERS = [
  ...["port", "ib-port", "size", "rx-depth", "iters", "sl", "timeout", "warm-up"] as const,
];
const FLAGS = ["events", "chk"] as const;

const CONNECTED = {
  separator: ",",
  numbers: [...NUMBERS, "mtu"],
  flags: FLAGS,
} as const;

export const KINDS: Readonly<Record<"ud" | "rc" | "uc" | "srq", Kind>> = {
  ud: {
    qpType: QpType.UD,
    summary: "Sends an unreliable datagram (UD) back and forth and measures how long that takes.",
    separator: ":",
    numbers: NUMBERS,
    flags: [...FLAGS, "reply-from-wc"],
    defaults: { size: 1024 },
    check({ replyFromWc, host }): void {
      if (!replyFromWc || host === undefined) return;
      throw new UsageError("--reply-from-wc is for the server: the client sends first");
    },
  },
  rc: {
    ...CONNECTED,
    qpType: QpType.RC,
    summary: "Sends a message over a reliable connection (RC) and measures how long that takes.",
  },
  uc: {
    ...CONNECTED,
    qpType: QpType.UC,
    summary: "Sends a message over an unreliable connection (UC) and measures how long that takes.",
  },
  srq: {
    ...CONNECTED,
    qpType: QpType.RC,
    shared: true,
    summary: "Sends messages over several reliable connections that share a receive queue (SRQ).",
    numbers: [...CONNECTED.numbers, "num-qp"],
    // The C tool sends a frame for each possible queue pair.
    frames: MAX_QUEUE_PAIRS,
    check({ rxDepth, numQp }): void {
      if (rxDepth >= numQp) return;
      throw new UsageError(
        `--rx-depth is ${rxDepth}, and each of ${numQp} queue pairs needs a receive`,
      );
    },
  },
};
