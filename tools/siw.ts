/** Runs the tests of connections over iWARP, in a guest that has a soft-iWARP device. */

import { ensurePackages } from "./host/setup.ts";
import { runInGuest } from "./guest/run.ts";
import { stdArguments } from "./host/jsr.ts";
import { inProject } from "./host/paths.ts";
import { tool } from "./host/tool.ts";
import { ensureSiw } from "./siw/source.ts";

const HELP = `Runs the tests of tests/siw in a guest that has siw0, a soft-iWARP device.

  deno task long siw

Its kernel module is built from the kernel's source package, of 140 MB, which is downloaded into the cache.
`;

await tool(HELP, {}, async () => {
  const programs = { package: "rdmacm-utils", file: "/usr/bin/rping" };
  await ensurePackages([{ ...programs, reason: "the tests talk to its programs" }]);
  const modules = await ensureSiw();
  const test = ["deno", "test", "-A", "--no-check", ...await stdArguments(), "tests/siw"];
  const script = inProject("tools/siw/with_siw.sh");
  return await runInGuest(["sh", script, modules, ...test], { share: [modules] });
});
