/** Programs and libraries of other releases of Debian, unpacked into the cache and never installed. */

import { type Archive, fillFromArchive } from "./archive.ts";
import { cached, digest } from "./cached.ts";
import { unpack } from "./packages.ts";
import { demand, exists } from "./shell.ts";
import { known, type UserlandName, USERLANDS } from "./systems.ts";

/** The packages of a host on which programs use the library and its tests run. */
const PACKAGES = [
  ...["?essential", "mawk", "mount", "iproute2", "kmod", "procps", "strace"],
  ...["ibverbs-providers", "ibverbs-utils", "libibverbs-dev", "librdmacm-dev", "rdmacm-utils"],
  ...["gcc", "libc6-dev", "libelf-dev", "make", "python3-pyverbs"],
  ...["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"],
];

const UNREAD = ["doc", "info", "locale", "man"].map((name) => `--exclude=./usr/share/${name}`);

/** The folders that belong to the packages of a system. All others belong to the user. */
export const SYSTEM_FOLDERS = ["etc", "var", "lib64", "lib", "sbin", "bin", "usr"];

/**
 * The folder of a userland.
 *
 * @throws {SetupError} If there is none of that name, or it cannot be fetched.
 */
export async function ensureUserland(name: UserlandName): Promise<string> {
  const { suite, megabytes } = known(USERLANDS, "userland", name);
  const what = `the userland of Debian ${name}`;
  return await cached(
    `userlands/${name}-${await digest([...PACKAGES, ...UNREAD])}`,
    (folder) =>
      fillFromArchive({ suite, what, megabytes }, folder, (archive) => fill(folder, archive)),
  );
}

async function fill(folder: string, archive: Archive): Promise<void> {
  const files = await archive.download(PACKAGES, "needed");
  // Older releases have files in both.
  for (const name of ["bin", "lib", "lib64", "sbin"]) {
    await Deno.mkdir(`${folder}/usr/${name}`, { recursive: true });
    await Deno.symlink(`usr/${name}`, `${folder}/${name}`);
  }
  const options = ["--keep-directory-symlink", "--no-same-owner", ...UNREAD];
  for (const file of files) await unpack(file, folder, ["*"], options);
  // The scripts of packages would do this.
  if (!exists(`${folder}/usr/bin/awk`)) await Deno.symlink("mawk", `${folder}/usr/bin/awk`);
  for (const name of ["passwd", "group"]) {
    await Deno.copyFile(`${folder}/usr/share/base-passwd/${name}.master`, `${folder}/etc/${name}`);
  }
  await Deno.writeTextFile(`${folder}/etc/hosts`, "127.0.0.1 localhost\n");
  await demand(...within(folder, ["ldconfig"], "rw"));
}

// The namespace ends with the command. Deno is put where no package has files. The host's mount works up to the last
// folder.
const ENTER = `set -e
here=$PWD deno=$2 how=$3
cd "$1"
shift 3
mount -n -t tmpfs tmpfs /media
: >/media/deno
mount -n --bind "$deno" /media/deno
mount -n --move /media /run
for folder in ${SYSTEM_FOLDERS.join(" ")}; do
  [ -L "/$folder" ] || [ ! -e "/$folder" ] || mount -n -o "bind,$how" "$folder" "/$folder"
done
cd "$here"
exec "$@"`;

/** The path at which a command in a userland finds Deno. */
export const DENO_WITHIN = "/run/deno";

/**
 * The words that run a command on this host with the programs and libraries of a userland. It sees the user's files and
 * no packages of the host. What it writes into the userland fails unless `how` is "rw".
 */
export function within(
  root: string,
  command: readonly string[],
  how: "ro" | "rw" = "ro",
): [string, ...string[]] {
  const rights = Deno.uid() === 0 ? [] : ["--map-root-user"];
  const enter = ["sh", "-c", ENTER, "sh", root, Deno.execPath(), how];
  return ["unshare", "--mount", ...rights, ...enter, ...command];
}
