/** Runs the tests: those that need no device on this host, the others on its RDMA device or in the guest. */

import { SYSTEM_OPTIONS } from "../rxe/command_line.ts";
import { ensureGuest } from "../rxe/guest/parts.ts";
import { forgetCalled, judgeCalled } from "./coverage/called.ts";
import { stdArguments } from "./host/jsr.ts";
import { text } from "./host/options.ts";
import { capture, ensurePackages, type Need, say, SetupError } from "./host/setup.ts";
import { project } from "./host/paths.ts";
import { hostDevice } from "./tests/device.ts";
import { NEEDS } from "./tests/of_library.ts";
import { plan, RARE_VARIABLE } from "./tests/plan.ts";
import { runPasses } from "./tests/run.ts";
import { tool } from "./host/tool.ts";

const HELP =
  `Runs the tests: those of tests/, cli/tests/ and rxe/tests/, in folders pure, library, device and project.

  deno task test [OPTIONS] [FILES OR FOLDERS...] [-- OPTIONS OF deno test]

The first two run on this host; the third on its RDMA device, or without one in the guest. The
last one uses the guest as a project of its own does, and runs only when it is named or with --rare.

  --filter TEXT   only tests whose name has that text, or matches /TEXT/
  --both          what reaches native code twice, with IBVERBS_THUNKS=on and =off; without FILES
                  not the tests of net, the command-line tool, examples and documents
  --guest         device tests in the guest even if the host has a device
  --kernel NAME, --userland NAME
                  device tests in a guest of another system: see deno task rxe --help
  --quick         only what takes seconds and needs no device, a line a file: "deno task quick"
  --rare          those of projects, and the long forms of a few others: "deno task long rare"
  --no-check      leave out the type check
`;

const ALL_NEEDS: Need[] = [
  ...NEEDS,
  { package: "make", file: "/usr/bin/make", reason: "the tests run a Makefile" },
  { package: "ibverbs-utils", file: "/usr/bin/ibv_ud_pingpong", reason: "the tests talk to it" },
  { package: "rdmacm-utils", file: "/usr/bin/rping", reason: "the tests talk to its programs" },
  {
    package: "python3-pyverbs",
    file: "/usr/lib/python3/dist-packages/pyverbs/__init__.py",
    reason: "the tests talk to a program that uses it",
  },
];

await tool(
  HELP,
  {
    ...{ both: "flag", filter: text, guest: "flag", "no-check": "flag" },
    ...{ quick: "flag", rare: "flag" },
    ...SYSTEM_OPTIONS,
  },
  async (options, operands, rest) => {
    const passes = plan({ paths: operands, both: false, ...options });
    const filtered = options.filter !== undefined;
    const extra = [...filtered ? [`--filter=${options.filter}`] : [], ...rest];
    await checkPassedOn(extra);
    if (passes.some((pass) => pass.tier !== "pure")) await ensurePackages(ALL_NEEDS);
    const { kernel, userland } = options;
    const isOther = kernel !== undefined || userland !== undefined;
    const guest = options.guest ?? (isOther || hostDevice() === undefined);
    const inGuest = passes.some(({ tier }) => tier === "project" || tier === "device" && guest);
    if (inGuest) await ensureGuest({ kernel, userland });
    // Only all tests together call all verbs.
    const isPart = operands.length > 0 || extra.length > 0 || options.quick || options.rare;
    const traced = !isPart && guest && !isOther;
    if (options.rare) Deno.env.set(RARE_VARIABLE, "1");
    if (traced) await forgetCalled();
    const [typesAreRight, { passed, failed }] = await Promise.all([
      options["no-check"] || checkTypes(),
      runPasses(passes, {
        ...{ guest, extra, filtered, traced, system: { kernel, userland } },
        brief: options.quick ?? false,
      }),
    ]);
    if (passed + failed === 0) throw new SetupError("no test was executed");
    if (!typesAreRight) say("error: the type check failed: see above");
    return report(passed, failed + (typesAreRight ? 0 : 1) + (traced ? await judgeCalled() : 0));
  },
);

/** `deno test` itself would refuse them only after the type check. */
async function checkPassedOn(args: string[]): Promise<void> {
  const { status, stderr } = await capture(Deno.execPath(), "test", ...args, "--help");
  if (status === 0) return;
  const [complaint] = stderr.split("\n", 1);
  throw new SetupError(`deno test: ${complaint!.replace("error: ", "")}; see --help`);
}

async function checkTypes(): Promise<boolean> {
  const args = ["check", "--quiet", ...await stdArguments(), "."];
  return (await new Deno.Command(Deno.execPath(), { args, cwd: project }).spawn().status).success;
}

/** The last line is read by machines too. */
function report(passed: number, failed: number): number {
  console.log(`\n${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}
