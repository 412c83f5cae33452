/** Shows a reply that travels: the main example, on this host's RDMA device or else in the guest. */

import { runInGuest } from "./guest/run.ts";
import { stdArguments } from "./host/jsr.ts";
import { ensurePackages, say } from "./host/setup.ts";
import { project } from "./host/paths.ts";
import { hostDevice } from "./tests/device.ts";
import { forUser, tool } from "./host/tool.ts";

const EXAMPLE = "examples/ud_reply_path.ts";

const HELP = `Runs ${EXAMPLE}: a datagram arrives, and the reply travels back.
Runs on this host's RDMA device, or without one in a virtual machine that has one.

  deno task demo [--help]

"deno task rxe -- deno run --allow-ffi ${EXAMPLE} --help" shows the example's own options.
`;

const FAREWELL = `
More to run:
  deno task rxe -- --stub deno run --allow-ffi examples/rss_table.ts "10.0.0.1:1234 > 10.0.0.2:80 tcp"
  deno task rxe -- ibv_devinfo -v
  deno task test`;

await tool(HELP, {}, async () => {
  const device = hostDevice();
  const status = device ? await onHost(device) : await inGuest();
  if (status === 0) say(forUser(FAREWELL));
  return status;
});

async function onHost(device: string): Promise<number> {
  say(`demo: ${EXAMPLE} on this host's ${device}`);
  await ensurePackages([{
    package: "libibverbs1",
    file: "/usr/lib/x86_64-linux-gnu/libibverbs.so.1",
    reason: "the library that is bound",
  }]);
  const args = ["run", "--allow-ffi", "--no-check", ...await stdArguments(), EXAMPLE];
  const { code } = await new Deno.Command(Deno.execPath(), { args, cwd: project }).spawn().status;
  return code;
}

async function inGuest(): Promise<number> {
  say(`demo: this host has no RDMA device; ${EXAMPLE} runs in a virtual machine that has one`);
  return await runInGuest(["deno", "run", "--allow-ffi", EXAMPLE]);
}
