/**
 * The C compilers that know the installed header, one for each architecture.
 *
 * @module
 */

/** The architectures that libibverbs and Deno have in common. */
export type Architecture = typeof Deno.build.arch;

/** What to put after a name for the compiler and its binutils to be found. */
export interface Toolchain {
  /** The architecture it compiles for. */
  readonly arch: Architecture;
  /** What precedes `gcc`, `readelf` and `objcopy` in their names. */
  readonly prefix: string;
  /** The Debian packages that hold it. */
  readonly packages: string;
}

/** Every architecture the table is generated for; the first is the one that the others are compared to. */
export const architectures: readonly Architecture[] = ["x86_64", "aarch64"];

/** The file that every program compiled here begins with. */
export const header = "infiniband/verbs.h";

/** Names the compiler for an architecture, installed or not. */
export function toolchainFor(arch: Architecture): Toolchain {
  if (arch === Deno.build.arch) {
    return { arch, prefix: "", packages: "gcc libc6-dev libibverbs-dev" };
  }
  const dashed = arch.replace("_", "-");
  const libc = arch === "x86_64" ? "amd64" : "arm64";
  return {
    arch,
    prefix: `${arch}-linux-gnu-`,
    packages: `gcc-${dashed}-linux-gnu libc6-dev-${libc}-cross libibverbs-dev`,
  };
}

/** Whether a compiler can be started and finds the header. */
export async function isInstalled(toolchain: Toolchain): Promise<boolean> {
  try {
    await preprocess(toolchain, []);
    return true;
  } catch {
    return false;
  }
}

/** Text of the header and all that it includes after preprocessing, with line markers. */
export async function preprocess(
  toolchain: Toolchain,
  flags: readonly string[],
): Promise<string> {
  const { output, errors } = await gcc(
    toolchain,
    `#include <${header}>\n`,
    ["-E", ...flags, "-o", "-"],
  );
  if (errors !== "") {
    throw new Error(
      `Cannot read ${header} for ${toolchain.arch}: install ${toolchain.packages} ` +
        `(apt-get install ${toolchain.packages})\n${errors}`,
    );
  }
  return output;
}

/** Compiles a program and returns the compiler's messages, empty when there are none. */
export async function compile(
  toolchain: Toolchain,
  source: string,
  flags: readonly string[],
): Promise<string> {
  const { errors } = await gcc(toolchain, source, flags);
  return errors;
}

/** Runs one of the tools that belong to a compiler. */
export async function run(
  command: string,
  args: readonly string[],
): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(command, {
    args: [...args],
    env: { LC_ALL: "C" },
  }).output();
  if (code !== 0) {
    throw new Error(
      `Cannot run ${command}: ${new TextDecoder().decode(stderr).trim()}`,
    );
  }
  return new TextDecoder().decode(stdout);
}

async function gcc(
  toolchain: Toolchain,
  source: string,
  flags: readonly string[],
): Promise<{ output: string; errors: string }> {
  // A cross compiler has its own libc headers; only what it lacks (the verbs) comes from the host's folder.
  const include = toolchain.prefix === "" ? [] : ["-idirafter", "/usr/include"];
  let child: Deno.ChildProcess;
  try {
    child = new Deno.Command(`${toolchain.prefix}gcc`, {
      args: ["-x", "c", "-w", ...include, ...flags, "-"],
      env: { LC_ALL: "C" },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  } catch (cause) {
    if (!(cause instanceof Deno.errors.NotFound)) throw cause;
    throw new Error(
      `Cannot start ${toolchain.prefix}gcc: install ${toolchain.packages} ` +
        `(apt-get install ${toolchain.packages})`,
      { cause },
    );
  }
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(source));
  await writer.close();
  const { code, stdout, stderr } = await child.output();
  const decoder = new TextDecoder();
  return {
    output: decoder.decode(stdout),
    errors: code === 0 ? "" : decoder.decode(stderr) || `exit status ${code}`,
  };
}
