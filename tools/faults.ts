/**
 * Runs the tests of faults: those that need no device on this host, the others in the guest.
 *
 * @module
 */

import { ensureGuest } from "../rxe/guest/parts.ts";
import { denoCommand } from "../rxe/host/deno_command.ts";
import { readOptions, text } from "../rxe/host/options.ts";
import { ensurePackages, type Need } from "../rxe/host/packages.ts";
import { main, SetupError } from "../rxe/host/report.ts";
import { plan } from "./tests/plan.ts";
import { runPasses } from "./tests/run.ts";

const HELP = `Makes everything fail that can fail, and tests what comes of it:
tests/library/faults, where each verb fails with each errno, and tests/device/faults, with a
device that goes away, limits, failing work requests and lost packets.

  ${denoCommand()} task test:faults [OPTIONS] [FILES OR FOLDERS OF THESE]

  --both          twice, with IBVERBS_THUNKS=on and =off
  --filter TEXT   only tests whose name has that text, or matches /TEXT/
  --help          show this text

The last line has the counts. The exit status is 1 when a test failed.
`;

const reason = "the tests compile a provider of verbs that fails when told to";
const NEEDS: Need[] = [
  { package: "gcc", file: "/usr/bin/gcc", reason },
  { package: "libc6-dev", file: "/usr/include/stdio.h", reason },
  { package: "libibverbs-dev", file: "/usr/include/infiniband/verbs.h", reason },
];

/** The folders of the tests. */
const FOLDERS = ["tests/library/faults", "tests/device/faults"];

await main(async () => {
  const { options, operands } = readOptions(Deno.args, {
    both: "flag",
    filter: text,
    help: "flag",
  });
  if (options.help) {
    console.log(HELP);
    return 0;
  }
  const { both = false, filter } = options;
  const passes = plan({ paths: operands.length === 0 ? FOLDERS : operands, both });
  await ensurePackages(NEEDS);
  if (passes.some(({ tier }) => tier === "device")) await ensureGuest();
  const { passed, failed } = await runPasses(passes, {
    // What changes the network, limits and control groups does so in a machine of its own.
    guest: true,
    extra: filter === undefined ? [] : [`--filter=${filter}`],
    filtered: filter !== undefined,
  });
  if (passed + failed === 0) throw new SetupError("no test was executed");
  console.log(`\nfaults: ${passed} tests passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
});
