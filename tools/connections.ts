/** Makes many connections by name in the guest, and shows that nothing of them stays. */

import { positive } from "../internal/command_line.ts";
import { runInGuest } from "./guest/run.ts";
import { stdArguments } from "./host/jsr.ts";
import { tool } from "./host/tool.ts";

const HELP = `Makes and ends connections by name one after the other, and then sends requests of
which the server accepts 100. It compares descriptors, kernel objects and the JavaScript heap before
and after, and prints the memory of the process after each thousand.

  deno task long connections [OPTIONS]

  --connections N   how many connections are made and ended (default 3000)
  --requests N      how many requests are sent (default 10000)

Exit status: 1 if a connection or a refusal goes another way, or if something is left.
`;

const PROGRAM = "tools/connections/guest.ts";
const SECONDS = 3600;

await tool(
  HELP,
  { connections: positive, requests: positive },
  async ({ connections = 3000, requests = 10_000 }) => {
    const deno = ["deno", "run", "-A", "--no-check", "--v8-flags=--expose-gc"];
    const command = [...deno, ...await stdArguments(), PROGRAM, `${connections}`, `${requests}`];
    return await runInGuest(command, { timeout: SECONDS });
  },
);
