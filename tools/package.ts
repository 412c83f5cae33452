/** Builds the packages as they are published: the sources, and beside them bundles and their declarations. */

import { inProject } from "./host/paths.ts";
import { lastLines, say, SetupError } from "./host/setup.ts";
import { buildPackages } from "./package/build.ts";
import { dryRun } from "./package/dry_run.ts";
import { tool } from "./host/tool.ts";

const HELP = `Builds the three packages as they are published, and checks that they could be.

  deno task package [--help] [FOLDER]

FOLDER is emptied first; it is out/package if it is left out. @rdma/ibverbs is in it, the others in its folders cli and
rxe. Each has its sources, and a bundle of each exported module with its declarations. A program imports the bundle, which
takes Deno a third of the time, and is checked against the declarations: it fetches these few files. The places in stack
traces are those of the sources. "deno publish" in each of these folders publishes its package.
`;

await tool(HELP, {}, async (_options, operands) => {
  const [folder = inProject("out/package"), ...more] = operands;
  if (more.length > 0) throw new SetupError(`"${more[0]}" is one argument too many; see --help`);
  await buildPackages(folder);
  const { status, stderr } = await dryRun(folder);
  if (status !== 0) throw new SetupError(`Cannot publish ${folder}: ${lastLines(stderr, 20)}`);
  say(`${folder} can be published`);
  return 0;
});
