/** Builds the package as it is published: the project's sources, and beside them bundles and their declarations. */

import { inProject } from "./host/paths.ts";
import { lastLines, say, SetupError } from "./host/setup.ts";
import { buildPackage, dryRun } from "./package/build.ts";
import { tool } from "./host/tool.ts";

const HELP = `Builds the package as it is published, and checks that it could be published.

  deno task package [--help] [FOLDER]

FOLDER is emptied first; it is out/package if it is left out. The package has the sources, and a bundle of each exported
module with its declarations. A program imports the bundle, which takes Deno a third of the time, and is checked against
the declarations: it fetches these few files. The places in stack traces are those of the sources. "deno publish" in
FOLDER publishes the package.
`;

await tool(HELP, {}, async (_options, operands) => {
  const [folder = inProject("out/package"), ...more] = operands;
  if (more.length > 0) throw new SetupError(`"${more[0]}" is one argument too many; see --help`);
  await buildPackage(folder);
  const { status, stderr } = await dryRun(folder);
  if (status !== 0) throw new SetupError(`Cannot publish ${folder}: ${lastLines(stderr, 20)}`);
  say(`${folder} can be published`);
  return 0;
});
