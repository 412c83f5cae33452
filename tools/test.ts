/**
 * Runs the tests: those that need no device on this host, the others on its RDMA device or in the
 * guest.
 *
 * @module
 */

import { parseArgs } from "@std/cli/parse-args";
import { ensureGuest } from "./guest/parts.ts";
import { stdArguments } from "./host/jsr.ts";
import { ensurePackages, type Need } from "./host/packages.ts";
import { project } from "./host/paths.ts";
import { main, say, SetupError } from "./host/report.ts";
import { hostDevice } from "./tests/device.ts";
import { plan } from "./tests/plan.ts";
import { runPasses } from "./tests/run.ts";

const HELP = `Runs the tests of tests/pure, tests/library and tests/device.

  deno task test -- [OPTIONS] [FILES OR FOLDERS...]

The first two run on this host; the third on its RDMA device, or without one in the guest.

  --filter TEXT   only tests whose name has that text, or matches /TEXT/
  --both          what reaches native code twice, with IBVERBS_THUNKS=on and =off
  --guest         device tests in the guest even if the host has a device
  --no-check      leave out the type check
  --help          show this text

Any other option is passed on to deno test.
`;

const reason = "the tests compile and run C";
const NEEDS: Need[] = [
  { package: "gcc", file: "/usr/bin/gcc", reason },
  { package: "libc6-dev", file: "/usr/include/stdio.h", reason },
  { package: "libibverbs-dev", file: "/usr/include/infiniband/verbs.h", reason },
  { package: "gcc-aarch64-linux-gnu", file: "/usr/bin/aarch64-linux-gnu-gcc", reason },
  { package: "libc6-dev-arm64-cross", file: "/usr/aarch64-linux-gnu/include/stdio.h", reason },
  { package: "ibverbs-utils", file: "/usr/bin/ibv_ud_pingpong", reason: "the tests talk to it" },
];

await main(async () => {
  const extra: string[] = [];
  const flags = parseArgs(Deno.args[0] === "--" ? Deno.args.slice(1) : Deno.args, {
    boolean: ["both", "check", "guest", "help"],
    negatable: ["check"],
    string: ["_", "filter"],
    default: { check: true },
    unknown: (argument) => {
      if (!argument.startsWith("-")) return true;
      extra.push(argument);
      return false;
    },
  });
  if (flags.help) {
    console.log(HELP);
    return 0;
  }
  if (flags.filter !== undefined) extra.push(`--filter=${flags.filter}`);
  const passes = plan({ paths: flags._.map(String), both: flags.both });
  if (passes.some((pass) => pass.tier !== "pure")) await ensurePackages(NEEDS);
  const guest = flags.guest || hostDevice() === undefined;
  if (guest && passes.some((pass) => pass.tier === "device")) await ensureGuest();
  if (flags.check && !await typesAreRight()) return report(0, 1);
  const { passed, failed } = await runPasses(passes, {
    guest,
    extra,
    filtered: flags.filter !== undefined,
  });
  if (passed + failed === 0) throw new SetupError("no test was executed");
  return report(passed, failed);
});

async function typesAreRight(): Promise<boolean> {
  say("== types");
  const args = ["check", "--quiet", ...await stdArguments(), "."];
  return (await new Deno.Command(Deno.execPath(), { args, cwd: project }).spawn().status).success;
}

/** The last line is read by machines too. */
function report(passed: number, failed: number): number {
  console.log(`\n${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}
