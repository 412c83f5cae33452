import { UsageError } from "../support/command_line.ts";
import { MAX_QUEUE_PAIRS, type Options, type Tool } from "./options.ts";
import { pathMtu } from "./port.ts";

type Name = "ud_pingpong" | "rc_pingpong" | "uc_pingpong" | "srq_pingpong";

/** The command lines of the tools. */
export const TOOLS: Readonly<Record<Name, Tool>> = {
  ud_pingpong: {
    name: "ud_pingpong",
    summary: "Sends an unreliable datagram (UD) back and forth and measures how long that takes.",
    flags: ["reply-from-wc"],
    defaults: { size: 1024 },
    check({ replyFromWc, host }): void {
      if (!replyFromWc || host === undefined) return;
      throw new UsageError("--reply-from-wc is for the server: the client sends first");
    },
  },
  rc_pingpong: {
    name: "rc_pingpong",
    summary: "Sends a message over a reliable connection (RC) and measures how long that takes.",
    numbers: ["mtu"],
    check: checkMtu,
  },
  uc_pingpong: {
    name: "uc_pingpong",
    summary: "Sends a message over an unreliable connection (UC) and measures how long that takes.",
    numbers: ["mtu"],
    check: checkMtu,
  },
  srq_pingpong: {
    name: "srq_pingpong",
    summary: "Sends messages over several reliable connections that share a receive queue (SRQ).",
    numbers: ["mtu", "num-qp"],
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
  },
};

function checkMtu(options: Options): void {
  if (pathMtu(options) !== undefined) return;
  throw new UsageError(`--mtu takes 256, 512, 1024, 2048 or 4096, not "${options.mtu}"`);
}
