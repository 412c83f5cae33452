/** Runs a command in a guest that has a soft-RoCE device. */

import { runCommandLine } from "../rxe/command_line.ts";
import { givenArguments } from "../rxe/host/arguments.ts";
import { denoCommand, main } from "./host/setup.ts";
import { inProjectOptions } from "./guest/run.ts";
import { out } from "./host/paths.ts";

const DETAILS = `
The current folder is that of the project. ${out} is shared, and is IBVERBS_OUT in its environment.
`;

await main(() =>
  runCommandLine(givenArguments(), {
    command: `${denoCommand()} task rxe --`,
    details: DETAILS,
    complete: (options) => inProjectOptions({ ...options, share: [out, ...options.share ?? []] }),
  })
);
