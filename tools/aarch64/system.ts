/** What the tests of aarch64 run with: libraries and Deno for it, and programs by which they run on another processor. */

import { cached, digest, fillFromArchive, unpack } from "../host/setup.ts";
import { fetchDeno } from "../host/other_deno.ts";

/** The newest version of which npm has Deno for aarch64. */
const DENO = "2.9.5";

const PACKAGES = [
  "ibverbs-providers",
  "libc6",
  "libgcc-s1",
  "libibverbs1",
  "libnl-3-200",
  "libnl-route-3-200",
];

export interface System {
  /** The folder that is its root. */
  readonly root: string;
  /** The path of Deno, a program for aarch64. */
  readonly deno: string;
}

/**
 * Downloads what is missing. apt-get checks signatures of the packages, npm checks the hash of Deno.
 *
 * @throws {SetupError} If something cannot be downloaded.
 */
export async function ensureSystem(): Promise<System> {
  const wanted = { suite: "bookworm", arch: "arm64", what: "libraries for aarch64", megabytes: 4 };
  const root = await cached(
    "aarch64-libraries",
    (folder) =>
      fillFromArchive(wanted, folder, async (archive) => {
        for (const file of await archive.download(PACKAGES)) await unpack(file, folder, ["*"]);
      }),
  );
  return { root, deno: await fetchDeno(DENO, "aarch64") };
}

/**
 * Writes the programs, and returns their folder.
 *
 * @param qemu The path of qemu-aarch64-static.
 */
export async function ensurePrograms(qemu: string, system: System): Promise<string> {
  const emulator = `${qemu} -L ${system.root}`;
  const files = {
    "deno": denoOf(emulator, system),
    "exec_path.js": EXEC_PATH,
    "gcc": gccOf(emulator, system),
  };
  return await cached(`aarch64-programs-${await digest(Object.values(files))}`, async (folder) => {
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${folder}/${name}`, text, { mode: 0o755 });
    }
  });
}

/** The kernel cannot start a program for aarch64: tests that start Deno have to start it by the script. */
const EXEC_PATH = `const path = new URL("deno", import.meta.url).pathname;
Deno.execPath = () => path;
`;

function denoOf(emulator: string, { deno }: System): string {
  return `#!/bin/sh
command=$1
shift
case $command in
  run | test) set -- "--preload=$(dirname "$0")/exec_path.js" "$@" ;;
esac
exec ${emulator} ${deno} "$command" "$@"
`;
}

/** A program that it links is a script, which starts the machine code by the emulator. */
function gccOf(emulator: string, { root }: System): string {
  const libraries = `${root}/usr/lib/aarch64-linux-gnu`;
  return `#!/bin/bash
set -e
program=yes
output=
args=()
for arg in "$@"; do
  [ "$previous" = -o ] && output=$arg
  case $arg in -shared | -c | -E | -S | -r) program= ;; esac
  # Without its development package libibverbs has no name to link it by.
  [ "$arg" = -libverbs ] && arg=-l:libibverbs.so.1
  args+=("$arg")
  previous=$arg
done
# Headers of the cross compiler come first: only those that it lacks are the host's.
aarch64-linux-gnu-gcc "\${args[@]}" -idirafter /usr/include -L${libraries} \\
  -Wl,-rpath-link,${libraries}:${root}/lib/aarch64-linux-gnu
if [ -n "$program" ] && [ -n "$output" ]; then
  mv "$output" "$output.elf"
  printf '#!/bin/sh\\nexec ${emulator} %s "$@"\\n' "$output.elf" >"$output"
  chmod +x "$output"
fi
`;
}
