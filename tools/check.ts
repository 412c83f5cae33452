/**
 * Checks form, types, documentation, order and verbs of the whole project, and that it could be published.
 *
 * @module
 */

import denoJson from "../deno.json" with { type: "json" };
import { stdArguments } from "./host/jsr.ts";
import { modulesWithoutDevice } from "./docs/fences.ts";
import { dryRunOfProject } from "./package/dry_run.ts";
import { denoCommand } from "../rxe/host/deno_command.ts";
import { readOnlyOptions } from "../rxe/host/options.ts";
import { project } from "./host/paths.ts";
import { main, say } from "../rxe/host/report.ts";
import { checkHouse } from "./house/check.ts";

const HELP = `Checks the whole project, and changes nothing.

  ${denoCommand()} task check [--help]

form            deno fmt --check, deno lint
types           deno check, of modules, examples and documents
documentation   deno doc --lint; deno test --doc, of examples that need no device
publishing      deno publish --dry-run, with adapters for @std where its registry is out of reach
order           imports run down from floor to floor, without a circle;
                only ffi/ uses unsafe functions of Deno
verbs           every verb is bound, offered by a class and tested
`;

await main(async () => {
  const options = readOnlyOptions(Deno.args, { help: "flag" });
  if (options.help) {
    console.log(HELP);
    return 0;
  }
  const std = await stdArguments();
  const failed: string[] = [];
  for (
    const [name, ...args] of [
      ["fmt", "--check"],
      ["lint"],
      ["check", "--doc", ...std, "."],
      ["doc", "--lint", ...Object.values(denoJson.exports)],
      [
        "test",
        "--doc",
        "--no-check",
        // Prepared requests have an address. No example here calls a verb.
        "--allow-ffi",
        "--reporter=dot",
        ...std,
        ...modulesWithoutDevice(),
      ],
    ]
  ) {
    say(`\n== deno ${name}`);
    const command = new Deno.Command(Deno.execPath(), { args: [name!, ...args], cwd: project });
    if (!(await command.spawn().status).success) failed.push(`deno ${name}`);
  }
  if (!await canBePublished()) failed.push("deno publish");
  if (!await orderIsKept(std)) failed.push("order");
  if (!await verbsAreCovered(std)) failed.push("verbs");
  say(failed.length === 0 ? "\nall checks pass" : `\nfailed: ${failed.join(", ")}`);
  return failed.length === 0 ? 0 : 1;
});

async function canBePublished(): Promise<boolean> {
  say("\n== deno publish --dry-run");
  const { status, stdout, stderr } = await dryRunOfProject();
  if (status !== 0) say(stdout + stderr);
  const sizes = [...stderr.matchAll(/^ +file:.* \(([\d.]+)(KB|B)\)$/gm)];
  const sum = sizes.reduce(
    (sum, [, size, unit]) => sum + Number(size) / (unit === "B" ? 1024 : 1),
    0,
  );
  say(`${sizes.length} files, ${Math.round(sum)} KiB`);
  return status === 0;
}

async function orderIsKept(std: string[]): Promise<boolean> {
  say("\n== floors of the house, imports run down");
  const { lines, faults } = await checkHouse(project, [`--config=${project}/deno.json`, ...std]);
  for (const line of lines) say(line);
  for (const fault of faults) say(`error: ${fault}`);
  return faults.length === 0;
}

async function verbsAreCovered(std: string[]): Promise<boolean> {
  say("\n== verbs: bound, typed");
  const program = [...std, `${project}/tools/coverage/main.ts`, "--check", "--quiet"];
  const args = ["run", "--allow-all", "--no-check", ...program];
  const command = new Deno.Command(Deno.execPath(), { args, cwd: project });
  return (await command.spawn().status).success;
}
