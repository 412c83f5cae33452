/** Programs by which tests of aarch64 run on another processor: Deno, and the compiler of the tests' C helpers. */

import { cached, digest } from "../../rxe/host/cached.ts";
import type { System } from "./system.ts";

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
