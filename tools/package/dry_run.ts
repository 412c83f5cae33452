/** Whether a package could be published, found out where the registry of @std may be out of reach. */

import { stdArguments } from "../host/jsr.ts";
import { copyFiles, inProject, projectFiles } from "../host/paths.ts";
import { capture, demand, type Finished } from "../../rxe/host/shell.ts";

// With a name that nothing is left out by.
const ADAPTERS = "std_adapters";

/** Runs `deno publish --dry-run` for a folder with a deno.json. */
export async function dryRun(folder: string): Promise<Finished> {
  if ((await stdArguments()).length === 0) return await publish(folder);
  const copy = await Deno.makeTempDir({ prefix: "ibverbs-package-" });
  try {
    await demand("cp", "-a", `${folder}/.`, copy);
    await useAdapters(copy);
    return await publish(copy);
  } finally {
    await Deno.remove(copy, { recursive: true });
  }
}

/** Runs `deno publish --dry-run` for the files of the project that git knows, or would. */
export async function dryRunOfProject(): Promise<Finished> {
  const copy = await Deno.makeTempDir({ prefix: "ibverbs-project-" });
  try {
    await copyFiles(await projectFiles(), copy);
    return await dryRun(copy);
  } finally {
    await Deno.remove(copy, { recursive: true });
  }
}

/** Puts the adapters into the package, and points the specifiers of @std at them. */
async function useAdapters(folder: string): Promise<void> {
  await demand("cp", "-a", inProject("tools/std"), `${folder}/${ADAPTERS}`);
  const map = JSON.parse(await Deno.readTextFile(inProject("tools/std/import_map.json")));
  const config = JSON.parse(await Deno.readTextFile(`${folder}/deno.json`));
  config.imports = Object.fromEntries(
    Object.entries<string>(map.imports).map(([name, path]) => [
      name,
      path.replace(/^\./, `./${ADAPTERS}`),
    ]),
  );
  await Deno.writeTextFile(`${folder}/deno.json`, JSON.stringify(config));
}

async function publish(folder: string): Promise<Finished> {
  const command = [Deno.execPath(), "publish", "--dry-run", "--allow-dirty"];
  return await capture("env", "-C", folder, ...command);
}
