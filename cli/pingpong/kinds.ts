/**
 * The kinds of ping-pongs, each with the options and the output of a C tool.
 *
 * @module
 */

import { type Context, QpType } from "../../mod.ts";
import { UsageError } from "../command.ts";
import { ConnectedEndpoint } from "./connected_endpoint.ts";
import type { MakeEndpoint } from "./endpoint.ts";
import { type Choice, MAX_QUEUE_PAIRS, type Options } from "./options.ts";
import { pathMtu } from "./port.ts";
import { SrqEndpoint } from "./srq_endpoint.ts";
import { UdEndpoint } from "./ud_endpoint.ts";

/** A kind of ping-pong. */
export interface Kind extends Choice {
  /** What it does, for the help. */
  readonly summary: string;
  /** What the C tool prints before its own GID. */
  readonly separator: ":" | ",";
  /** The number of frames in the exchange of addresses, if it is not the number of queue pairs. */
  readonly frames?: number;
  /** Refuses options that do not fit together. */
  readonly check: (options: Options) => void;
  /** Makes the verbs objects of one side. */
  readonly make: MakeEndpoint;
}

const NUMBERS = [
  ...["port", "ib-port", "size", "rx-depth", "iters", "sl", "timeout", "warm-up"] as const,
];
const FLAGS = ["events", "chk"] as const;

const CONNECTED = {
  separator: ",",
  numbers: [...NUMBERS, "mtu"],
  flags: FLAGS,
  check: checkMtu,
} as const;

/** The kinds by their names. */
export const KINDS: Readonly<Record<"ud" | "rc" | "uc" | "srq", Kind>> = {
  ud: {
    summary: "Sends an unreliable datagram (UD) back and forth and measures how long that takes.",
    separator: ":",
    numbers: NUMBERS,
    flags: [...FLAGS, "reply-from-wc"],
    defaults: { size: 1024 },
    check({ replyFromWc, host }): void {
      if (!replyFromWc || host === undefined) return;
      throw new UsageError("--reply-from-wc is for the server: the client sends first");
    },
    make: (context: Context, options: Options) => new UdEndpoint(context, options),
  },
  rc: {
    ...CONNECTED,
    summary: "Sends a message over a reliable connection (RC) and measures how long that takes.",
    make: (context, options) => new ConnectedEndpoint(context, options, QpType.RC),
  },
  uc: {
    ...CONNECTED,
    summary: "Sends a message over an unreliable connection (UC) and measures how long that takes.",
    make: (context, options) => new ConnectedEndpoint(context, options, QpType.UC),
  },
  srq: {
    ...CONNECTED,
    summary: "Sends messages over several reliable connections that share a receive queue (SRQ).",
    numbers: [...CONNECTED.numbers, "num-qp"],
    // The C tool sends a frame for each queue pair that there could be.
    frames: MAX_QUEUE_PAIRS,
    check(options): void {
      checkMtu(options);
      const { rxDepth, numQp } = options;
      if (rxDepth >= numQp) return;
      throw new UsageError(
        `--rx-depth is ${rxDepth}, and each of ${numQp} queue pairs needs a receive`,
      );
    },
    make: (context, options) => new SrqEndpoint(context, options),
  },
};

/** Refuses an MTU that does not exist. */
export function checkMtu(options: Options): void {
  if (pathMtu(options) !== undefined) return;
  throw new UsageError(`--mtu takes 256, 512, 1024, 2048 or 4096, not "${options.mtu}"`);
}
