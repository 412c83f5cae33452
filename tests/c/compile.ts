// C helpers are built where the tests run, so that no binary lives in the repository.

import { fileURLToPath } from "node:url";
import { exists } from "../../tools/host/setup.ts";

/** Where results are kept. */
export const CACHE = new URL("../../.cache/c/", import.meta.url);

/** Systems with other versions of it may share the folder. */
const HEADER = "/usr/include/infiniband/verbs.h";

/** Debian packages, by the compiler they bring. */
const PACKAGES: Record<string, string> = {
  "gcc": "gcc libc6-dev",
  "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
};

/**
 * Compiles one C file and returns the path of the result.
 *
 * The result is kept by the hash of the source, the headers beside it, the flags and the compiler, so a second call
 * costs a few file reads. Flags alone decide what comes out: a program, or with `-shared -fPIC` a library.
 *
 * @param name The C file, relative to `tests/c/`.
 * @param flags The compiler's flags, libraries (`-libverbs`) included: they stand after the source.
 * @throws {Error} If the compiler is missing (naming its packages) or refuses the source (with its messages).
 */
export async function compileC(
  name: string,
  flags: readonly string[] = [],
  compiler = "gcc",
): Promise<string> {
  const allFlags = [...flags, ...compiler === "gcc" ? sanitizerFlags() : []];
  const source = new URL(name, import.meta.url);
  const stem = name.slice(name.lastIndexOf("/") + 1).replace(/\.c$/, "");
  // Nor do releases of a system share what they compile: a newer C library is not that of an older one.
  const release = await Deno.readTextFile("/etc/os-release");
  const key = await digest([release, compiler, ...allFlags], source);
  // A folder that machines share may hold what another architecture compiled.
  const result = fileURLToPath(new URL(`${stem}-${Deno.build.arch}-${key}`, CACHE));
  if (exists(result)) return result;
  await Deno.mkdir(CACHE, { recursive: true });
  // Renamed when whole: tests in other processes may want the same file at the same time.
  const partial = `${result}.${crypto.randomUUID()}`;
  const options = ["-O2", "-Wall", "-Wextra", "-o", partial];
  await run(compiler, [...options, fileURLToPath(source), ...allFlags], name);
  await Deno.rename(partial, result);
  return result;
}

/** A run that looks for misuse of memory names a sanitizer of the compiler here, such as `address`. */
const SANITIZE = "IBVERBS_SANITIZE";

function sanitizerFlags(): string[] {
  const sanitizer = Deno.env.get(SANITIZE) ?? "";
  return sanitizer === "" ? [] : [`-fsanitize=${sanitizer}`, "-fno-omit-frame-pointer", "-g"];
}

async function run(compiler: string, args: string[], name: string): Promise<void> {
  let output: Deno.CommandOutput;
  try {
    output = await new Deno.Command(compiler, { args }).output();
  } catch (cause) {
    if (!(cause instanceof Deno.errors.NotFound)) throw cause;
    const packages = PACKAGES[compiler] ?? compiler;
    throw new Error(
      `Cannot compile "${name}": ${compiler} is missing (apt-get install ${packages})`,
      { cause },
    );
  }
  if (!output.success) {
    throw new Error(
      `Cannot compile "${name}": ${new TextDecoder().decode(output.stderr).trimEnd()}`,
    );
  }
}

/** A hash of words, and of a source, the headers beside it and that of verbs. */
async function digest(words: string[], source: URL): Promise<string> {
  const names = [...Deno.readDirSync(new URL(".", source))].map(({ name }) => name);
  const headers = names.filter((name) => name.endsWith(".h")).sort();
  const files = [source, ...headers.map((name) => new URL(name, source))];
  if (exists(HEADER)) files.push(new URL(`file://${HEADER}`));
  const texts = files.map((file) => Deno.readTextFileSync(file));
  const bytes = new TextEncoder().encode([JSON.stringify(words), ...texts].join(""));
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return hash.slice(0, 8).toHex();
}
