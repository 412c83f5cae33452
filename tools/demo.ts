/**
 * Shows a reply that travels: the main example, on this host's RDMA device or else in the guest.
 *
 * @module
 */

import { runInGuest } from "./guest/run.ts";
import { stdArguments } from "./host/jsr.ts";
import { ensurePackages } from "./host/packages.ts";
import { project } from "./host/paths.ts";
import { main, say } from "./host/report.ts";
import { hostDevice } from "./tests/device.ts";

const EXAMPLE = "examples/ud_reply_path.ts";

const FAREWELL = `
More to run:
  deno task vm -- --stub deno run --allow-ffi examples/rss_table.ts "10.0.0.1:1234 > 10.0.0.2:80 tcp"
  deno task vm -- ibv_devinfo -v
  deno task test`;

await main(async () => {
  const args = Deno.args[0] === "--" ? Deno.args.slice(1) : Deno.args;
  const device = hostDevice();
  const status = device ? await onHost(device, args) : await inGuest(args);
  if (status === 0) say(FAREWELL);
  return status;
});

async function onHost(device: string, args: string[]): Promise<number> {
  say(`demo: ${EXAMPLE} on this host's ${device}`);
  await ensurePackages([{
    package: "libibverbs1",
    file: "/usr/lib/x86_64-linux-gnu/libibverbs.so.1",
    reason: "the library that is bound",
  }]);
  const command = ["run", "--allow-ffi", "--no-check", ...await stdArguments(), EXAMPLE, ...args];
  const { code } = await new Deno.Command(Deno.execPath(), { args: command, cwd: project }).spawn()
    .status;
  return code;
}

async function inGuest(args: string[]): Promise<number> {
  say(`demo: no RDMA device on this host, so ${EXAMPLE} runs in a virtual machine that has one`);
  return await runInGuest(["deno", "run", "--allow-ffi", EXAMPLE, ...args]);
}
