/** Programs that play those of the host, and what this process says while they do. */

/** Programs before all others, until they are disposed of. */
export interface Programs extends AsyncDisposable {
  /** A folder of their own. */
  readonly folder: string;
  /** Each call: the program and its arguments. */
  calls(): string[];
  /** What this process wrote to standard error. */
  said(): string;
}

/**
 * Puts programs of these scripts before all others, and sets variables. In a script, `$N` is how often the
 * program was called, and `$FOLDER` the folder.
 */
export async function programs(
  scripts: Readonly<Record<string, string>>,
  variables: Readonly<Record<string, string>> = {},
): Promise<Programs> {
  const folder = await Deno.makeTempDir();
  const log = `${folder}/calls`;
  await Deno.writeTextFile(log, "");
  for (const [name, script] of Object.entries(scripts)) {
    const lines = [
      "#!/bin/sh",
      `echo "${name} $*" >>'${log}'`,
      `N=$(grep -c '^${name} ' '${log}')`,
      `FOLDER='${folder}'`,
      script,
    ];
    await Deno.writeTextFile(`${folder}/${name}`, lines.join("\n"), { mode: 0o755 });
  }
  const stack = new AsyncDisposableStack();
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  const said = stack.use(listen());
  stack.use(environment({ PATH: `${folder}:${Deno.env.get("PATH")}`, ...variables }));
  return {
    folder,
    calls: () => Deno.readTextFileSync(log).split("\n").slice(0, -1),
    said: () => said.text(),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Sets variables of the environment until it is disposed. */
function environment(variables: Readonly<Record<string, string>>): Disposable {
  const before = Object.keys(variables).map((name) => [name, Deno.env.get(name)] as const);
  for (const [name, value] of Object.entries(variables)) Deno.env.set(name, value);
  return {
    [Symbol.dispose]: () => {
      for (const [name, value] of before) {
        if (value === undefined) Deno.env.delete(name);
        else Deno.env.set(name, value);
      }
    },
  };
}

/** Keeps what this process writes to standard error, until it is disposed. */
function listen(): Disposable & { text(): string } {
  const { writeSync, write } = Deno.stderr;
  let text = "";
  const keep = (bytes: Uint8Array): number => {
    text += new TextDecoder().decode(bytes);
    return bytes.length;
  };
  Deno.stderr.writeSync = keep;
  Deno.stderr.write = (bytes) => Promise.resolve(keep(bytes));
  return {
    text: () => text,
    [Symbol.dispose]: () => Object.assign(Deno.stderr, { writeSync, write }),
  };
}
