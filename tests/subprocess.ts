// Runs TypeScript in a Deno process of its own, for what one process can try only once: opening the library, limits,
// rights, and ending.

const STD = new URL("../tools/std/import_map.json", import.meta.url).pathname;

/** How a script ended. */
export interface ScriptResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Options of {@linkcode runScript}. */
export interface ScriptOptions {
  /** Command that starts Deno, such as `["prlimit", "--memlock=65536"]`. */
  readonly prefix?: readonly string[];
  /** Environment variables to add. */
  readonly env?: Record<string, string>;
  /** Deno's permissions; all if left out. */
  readonly permissions?: readonly string[];
  /** Lets bare specifiers of @std resolve, which the programs of cli use. */
  readonly importMap?: boolean;
}

/** Runs a module, given as text; `MOD` and `FFI` stand for the URLs of mod.ts and of the folder ffi. */
export async function runScript(
  script: string,
  { prefix = [], env = {}, permissions = ["--allow-all"], importMap = false }: ScriptOptions = {},
): Promise<ScriptResult> {
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    const text = script
      .replaceAll("MOD", JSON.stringify(import.meta.resolve("../mod.ts")))
      .replaceAll(
        /FFI\/([\w/]+)/g,
        (_, name) => JSON.stringify(import.meta.resolve(`../ffi/${name}.ts`)),
      );
    await Deno.writeTextFile(file, text);
    const [command, ...args] = [
      ...prefix,
      Deno.execPath(),
      "run",
      "--quiet",
      "--no-check",
      "--no-prompt",
      "--no-config",
      ...importMap ? [`--import-map=${STD}`] : [],
      ...permissions,
      file,
    ];
    const output = await new Deno.Command(command!, { args, env }).output();
    const decoder = new TextDecoder();
    return {
      code: output.code,
      stdout: decoder.decode(output.stdout).trim(),
      stderr: decoder.decode(output.stderr).trim(),
    };
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
