/**
 * Writes the drawings of the documentation, `docs/drawings/*.svg`.
 *
 * @module
 */

import { denoCommand } from "../../rxe/host/deno_command.ts";
import { readOnlyOptions } from "../../rxe/host/options.ts";
import { main } from "../../rxe/host/report.ts";
import { inProject } from "../host/paths.ts";
import { DRAWINGS } from "./drawings/all.ts";

const HELP = `Writes the drawings of the documentation.

  ${denoCommand()} task generate drawings [--help]

The files are docs/drawings/*.svg. A test compares them with what this program makes.
`;

await main(() => {
  const options = readOnlyOptions(Deno.args, { help: "flag" });
  if (options.help) console.log(HELP);
  else write();
  return Promise.resolve(0);
});

function write(): void {
  for (const [name, draw] of Object.entries(DRAWINGS)) {
    Deno.writeTextFileSync(inProject(`docs/drawings/${name}`), draw());
    console.log(`Wrote docs/drawings/${name}`);
  }
}
