/** Does everything at once for a long time in the guest, or the same many times, and shows that nothing stays. */

import { oneOf, positive } from "./host/options.ts";
import { runInGuest } from "./guest/run.ts";
import { stdArguments } from "./host/jsr.ts";
import { tool } from "./host/tool.ts";

const MINUTES = 60;
const KINDS = ["join", "connect", "listen", "refuse"] as const;

const HELP =
  `Makes address handles, tables, queue pairs, connections, messages, address changes, aborted calls and
Workers at once, in the guest. It looks at each message, and samples memory, kernel objects,
descriptors and threads.

  deno task long soak [OPTIONS]

  --minutes N  length of the run, ${MINUTES}; 10 or more on a busy emulated processor
  --cycles N   in place of it, N times each: join and leave a group, connect and close, listen and
               close, ask and be refused
  --only KIND  only the cycles of that kind: ${KINDS.join(", ")}

Exit status: 1 if a message is lost or changed, if a kind of work comes to a stop, if a series grows
beyond its limit, or if kernel objects are left.
`;

/** For the start of the guest and of the program, and for the end. */
const MARGIN_SECONDS = 600;
/** All four kinds of a cycle, by a busy emulated processor. */
const SECONDS_PER_CYCLE = 3;

await tool(
  HELP,
  { minutes: positive, cycles: positive, only: oneOf(...KINDS) },
  async ({ minutes = MINUTES, cycles = 0, only = "" }) => {
    const deno = ["deno", "run", "-A", "--no-check", "--v8-flags=--expose-gc"];
    const program = ["tools/soak/guest.ts", `${minutes}`, `${cycles}`, only];
    const command = [...deno, ...await stdArguments(), ...program];
    const seconds = cycles > 0 ? SECONDS_PER_CYCLE * cycles : 60 * minutes;
    return await runInGuest(command, { stub: true, timeout: seconds + MARGIN_SECONDS });
  },
);
