// Runs TypeScript in a Deno process of its own, for what one process can try only once: opening the library, limits,
// rights, and ending.

import { isBelow } from "../ffi/platform.ts";

/** Options that let bare specifiers of @std resolve: to the same place as for this process. */
export function stdOptions(): string[] {
  const resolved = import.meta.resolve("@std/assert");
  if (!resolved.startsWith("file:")) return [];
  return [`--import-map=${new URL("import_map.json", resolved).pathname}`];
}

/** An option that leads imports of the package to its bundles, where somebody has built them: they load faster. */
export function bundleOptions(): string[] {
  const path = Deno.env.get("IBVERBS_IMPORT_MAP");
  return path === undefined ? [] : [`--import-map=${path}`];
}

const CONFIG = `--config=${new URL("../deno.json", import.meta.url).pathname}`;

/** The sanitizers of `deno test`. Deno 2.7 has no flags for what it does by default. */
export const SANITIZERS: readonly string[] = isBelow(Deno.version.deno, "2.8.0")
  ? []
  : ["--sanitize-ops", "--sanitize-resources"];

/** How a script ended. */
export interface ScriptResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Options of {@linkcode runDeno}. */
export interface ProcessOptions {
  /** Command that starts Deno, such as `["prlimit", "--memlock=65536"]`. */
  readonly prefix?: readonly string[];
  /** Environment variables to add. */
  readonly env?: Record<string, string>;
  /** What the process reads from standard input. */
  readonly input?: BlobPart;
}

/** Options of {@linkcode runScript}. */
export interface ScriptOptions extends ProcessOptions {
  /** Deno's permissions; all if left out. */
  readonly permissions?: readonly string[];
  /** Lets bare specifiers resolve: those of @std, and of the packages of this project. */
  readonly importMap?: boolean;
}

/** Runs Deno in the project's folder. */
export async function runDeno(
  args: readonly string[],
  { prefix = [], env = {}, input = "" }: ProcessOptions = {},
): Promise<ScriptResult> {
  const [command, ...words] = [...prefix, Deno.execPath(), ...args];
  const child = new Deno.Command(command!, {
    args: words,
    cwd: new URL("../", import.meta.url),
    env: { NO_COLOR: "1", ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writing = new Blob([input]).stream().pipeTo(child.stdin).catch(() => {});
  const { code, stdout, stderr } = await child.output();
  await writing;
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

/** Runs a module, given as text; `MOD`, `FFI` and `WAIT` stand for the URLs of mod.ts and of the folders ffi and wait. */
export async function runScript(
  script: string,
  { prefix = [], env = {}, permissions = ["--allow-all"], importMap = false }: ScriptOptions = {},
): Promise<ScriptResult> {
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    const text = script
      .replaceAll("MOD", JSON.stringify(import.meta.resolve("../mod.ts")))
      .replaceAll(
        /\b(FFI|WAIT)\/([\w/]+)/g,
        (_, folder, name) =>
          JSON.stringify(import.meta.resolve(`../${folder.toLowerCase()}/${name}.ts`)),
      );
    await Deno.writeTextFile(file, text);
    const options = ["--quiet", "--no-check", "--no-prompt"];
    options.push(...importMap ? [CONFIG, ...stdOptions()] : ["--no-config", ...bundleOptions()]);
    const args = ["run", ...options, ...permissions, file];
    const { code, stdout, stderr } = await runDeno(args, { prefix, env });
    return { code, stdout: stdout.trim(), stderr: stderr.trim() };
  } finally {
    await Deno.remove(file);
  }
}

/** What a script that must end well printed; throws with its errors if it did not. */
export async function outputOf(script: string, options: ScriptOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await runScript(script, options);
  if (code !== 0) throw new Error(`Cannot go on: the script ended with status ${code}: ${stderr}`);
  return stdout;
}
