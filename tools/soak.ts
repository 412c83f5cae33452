/** Does everything at once for a long time in the guest, and shows that nothing stays. */

import { positive } from "./host/options.ts";
import { shmPath } from "../tests/provider/compile.ts";
import { runInGuest } from "./guest/run.ts";
import { stdArguments } from "./host/jsr.ts";
import { inProject } from "./host/paths.ts";
import { tool } from "./host/tool.ts";

const MINUTES = 60;

const HELP =
  `Makes address handles, tables, queue pairs, connections, messages, address changes, aborted calls and
Workers at once, in the guest. It looks at each message, and samples memory, kernel objects,
descriptors and threads.

  deno task long soak [OPTIONS]

  --minutes N      length of the run, ${MINUTES}; 10 or more on a busy emulated processor
  --connections N  in place of all that, on this host: so many connections to one server, which come and
                   go and are called at random, on the device that carries messages by shared memory

Exit status: 1 if a message is lost or changed, if a kind of work comes to a stop, if a series grows
beyond its limit, or if kernel objects are left.
`;

/** For the start of the guest and of the program, and for the end. */
const MARGIN_SECONDS = 600;
const OPTIONS = { connections: positive, minutes: positive } as const;
await tool(HELP, OPTIONS, async ({ connections, minutes = MINUTES }) => {
  if (connections !== undefined) return await comingAndGoing(connections, minutes);
  const deno = ["deno", "run", "-A", "--no-check", "--v8-flags=--expose-gc"];
  const command = [...deno, ...await stdArguments(), "tools/soak/guest.ts", `${minutes}`];
  return await runInGuest(command, { stub: true, timeout: 60 * minutes + MARGIN_SECONDS });
});

/** Runs a server, which starts its clients. */
async function comingAndGoing(connections: number, minutes: number): Promise<number> {
  const folder = await Deno.makeTempDir({ dir: "/dev/shm" });
  const env = { IBVERBS_LIBRARY: await shmPath(), IBVERBS_SHM: `${folder}/network` };
  const flags = ["-A", "--no-check", "--v8-flags=--expose-gc", inProject("tools/soak/server.ts")];
  const args = ["run", ...flags, `${minutes}`, `${connections}`];
  try {
    return (await new Deno.Command(Deno.execPath(), { args, env }).spawn().status).code;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
