/** Does everything at once for a long time in the guest, and shows that nothing stays. */

import { positive } from "./host/options.ts";
import { runInGuest } from "./guest/run.ts";
import { stdArguments } from "./host/jsr.ts";
import { tool } from "./host/tool.ts";

const MINUTES = 60;

const HELP =
  `Makes address handles, tables, queue pairs, connections, messages, address changes, aborted calls and
Workers at once, in the guest. It looks at each message, and samples memory, kernel objects,
descriptors and threads.

  deno task long soak [OPTIONS]

  --minutes N  length of the run, ${MINUTES}; 10 or more on a busy emulated processor

Exit status: 1 if a message is lost or changed, if a kind of work comes to a stop, if a series grows
beyond its limit, or if kernel objects are left.
`;

/** For the start of the guest and of the program, and for the end. */
const MARGIN_SECONDS = 600;
await tool(HELP, { minutes: positive }, async ({ minutes = MINUTES }) => {
  const deno = ["deno", "run", "-A", "--no-check", "--v8-flags=--expose-gc"];
  const command = [...deno, ...await stdArguments(), "tools/soak/guest.ts", `${minutes}`];
  return await runInGuest(command, { stub: true, timeout: 60 * minutes + MARGIN_SECONDS });
});
