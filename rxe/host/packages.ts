/** Debian packages: installed on the host when one is missing, or only unpacked into the cache. */

import { ensureListed, install, SIGNED_ONLY, withFreshLists } from "./apt.ts";
import { cached } from "./cached.ts";
import { say, SetupError } from "./report.ts";
import { capture, exists, lastLines } from "./shell.ts";

/** A package that the host needs, which is installed if one of its files exists. */
export interface Need {
  package: string;
  /** A file that the package brings. */
  file: string;
  reason: string;
}

/** Installs those packages whose file is missing; asks for nothing when all is there. */
export async function ensurePackages(needs: readonly Need[]): Promise<void> {
  const missing = needs.filter((need) => !exists(need.file));
  if (missing.length === 0) return;
  for (const need of missing) say(`set-up: installing ${need.package} (${need.reason})`);
  const names = missing.map((need) => need.package);
  await withFreshLists(() => install(names));
  const absent = missing.find((need) => !exists(need.file));
  if (absent) {
    throw new SetupError(`Cannot use package ${absent.package}: it has brought no ${absent.file}`);
  }
}

/**
 * Downloads a package without installing it; the path of its file in `folder`.
 *
 * @param apt Options of apt that has read its lists; none is that of the host.
 */
export async function downloadPackage(
  name: string,
  folder: string,
  apt: readonly string[] = [],
): Promise<string> {
  if (apt.length === 0) await ensureListed([name]);
  const uri = await capture("apt-get", ...apt, "download", "--print-uris", name);
  const found = uri.stdout.match(/' (\S+) (\d+)/);
  if (!found) throw new SetupError(`Cannot download package ${name}: ${lastLines(uri.stderr, 4)}`);
  const [, file, size] = found;
  await Deno.mkdir(folder, { recursive: true });
  using _progress = reportGrowth(name, `${folder}/${file}`, Number(size));
  const options = [...apt, ...SIGNED_ONLY, "-o", "Acquire::Retries=3"];
  const command = ["-C", folder, "apt-get", ...options, "download", name];
  const { status, stderr } = await capture("env", ...command);
  if (status !== 0) {
    throw new SetupError(`Cannot download package ${name}: ${lastLines(stderr, 4)}`);
  }
  return `${folder}/${file}`;
}

/** Unpacks the files of a downloaded package that match the patterns, with more options of tar's. */
export async function unpack(
  file: string,
  folder: string,
  patterns: string[],
  more: string[] = [],
): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  const members = patterns.map((pattern) => `./${pattern}`);
  const options = ["-x", "-C", folder, "--wildcards", ...more];
  const script = 'set -o pipefail; dpkg-deb --fsys-tarfile "$0" | tar "$@"';
  const { status, stderr } = await capture("bash", "-c", script, file, ...options, ...members);
  if (status !== 0) throw new SetupError(`Cannot unpack ${file}: ${lastLines(stderr, 4)}`);
}

/** Unpacks files of a package that is not on the host. */
export async function fetchPackage(
  name: string,
  folder: string,
  patterns: string[],
  more?: string[],
  apt?: readonly string[],
): Promise<void> {
  const file = await downloadPackage(name, folder, apt);
  say(`set-up: unpacking ${name}`);
  await unpack(file, folder, patterns, more);
  await Deno.remove(file);
}

/** As `cached()`, of what comes from packages. */
export function cachedPackages(
  name: string,
  fetch: (folder: string) => Promise<void>,
): Promise<string> {
  return cached(name, (partial) => withFreshLists(() => fetch(partial)));
}

/** The version-specific package that a meta package (`linux-image-amd64`) depends on. */
export async function dependencyOf(meta: string, pattern: RegExp): Promise<string> {
  await ensureListed([meta]);
  const { stdout } = await capture("apt-cache", "depends", meta);
  const name = stdout.match(pattern)?.[0];
  if (!name) {
    throw new SetupError(
      `Cannot find the package behind ${meta}: apt-cache shows ${stdout.trim() || "nothing"}`,
    );
  }
  return name;
}

const STRICT = ["recommends", "suggests", "conflicts", "breaks", "replaces", "enhances"]
  .map((relation) => `--no-${relation}`);

/** A package and those it depends on, and they in turn, whose names match. */
export async function neededBy(
  name: string,
  pattern: RegExp,
  apt: readonly string[] = [],
): Promise<string[]> {
  if (apt.length === 0) await ensureListed([name]);
  const { stdout } = await capture("apt-cache", ...apt, "depends", "--recurse", ...STRICT, name);
  return [...new Set([name, ...stdout.split("\n").filter((line) => pattern.test(line))])];
}

/** Says every second how far a download is, until it is disposed. */
function reportGrowth(name: string, file: string, size: number): Disposable {
  const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(0);
  say(`set-up: downloading ${name}, ${megabytes(size)} MB`);
  const timer = setInterval(() => {
    const bytes = exists(file) ? Deno.statSync(file).size : 0;
    say(`set-up: downloading ${name}, ${megabytes(bytes)} of ${megabytes(size)} MB`);
  }, 1000);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
