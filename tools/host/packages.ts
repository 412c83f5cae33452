/** Debian packages: installed on the host when something is missing, or only unpacked into the cache. */

import { say, SetupError } from "./report.ts";
import { capture, exists, lastLines } from "./shell.ts";

/** A package that the host needs, known to be there by one of its files. */
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
  const install = ["apt-get", "install", "--yes", "--no-install-recommends", ...names];
  await ensurePackageLists(names);
  const { status, stderr } = await privileged(install);
  if (status !== 0) {
    throw new SetupError(
      `Cannot install packages: ${lastLines(stderr, 8)}\nRun: sudo ${install.join(" ")}`,
    );
  }
  const absent = missing.find((need) => !exists(need.file));
  if (absent) {
    throw new SetupError(
      `Cannot use package ${absent.package}: it was installed without ${absent.file}`,
    );
  }
}

/** Downloads a package without installing it; the path of its file in `folder`. */
export async function downloadPackage(name: string, folder: string): Promise<string> {
  await ensurePackageLists([name]);
  const uri = await capture("apt-get", "download", "--print-uris", name);
  const [, file, size] = uri.stdout.match(/^'.*' (\S+) (\d+)/m) ?? [];
  if (!file) throw new SetupError(`Cannot download package ${name}: ${lastLines(uri.stderr, 4)}`);
  await Deno.mkdir(folder, { recursive: true });
  const target = `${folder}/${file}`;
  const progress = reportGrowth(name, target, Number(size));
  try {
    await retried(`download of ${name}`, ["apt-get", "download", name], folder);
  } finally {
    progress();
  }
  return target;
}

/** Unpacks the files of a downloaded package that match the patterns (tar's wildcards) and none of those excluded. */
export async function unpack(
  file: string,
  folder: string,
  patterns: string[],
  excluded: string[] = [],
): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  const members = patterns.map((pattern) => `./${pattern}`);
  const options = [
    "-x",
    "-C",
    folder,
    "--wildcards",
    ...excluded.map((pattern) => `--exclude=./${pattern}`),
  ];
  const script = 'dpkg-deb --fsys-tarfile "$0" | tar "$@"';
  const { status, stderr } = await capture(
    "bash",
    "-o",
    "pipefail",
    "-c",
    script,
    file,
    ...options,
    ...members,
  );
  if (status !== 0) throw new SetupError(`Cannot unpack ${file}: ${lastLines(stderr, 4)}`);
}

/** The version-specific package that a meta package (`linux-image-amd64`) depends on. */
export async function dependencyOf(meta: string, pattern: RegExp): Promise<string> {
  await ensurePackageLists([meta]);
  const { stdout } = await capture("apt-cache", "depends", meta);
  const name = stdout.match(pattern)?.[0];
  if (!name) {
    throw new SetupError(
      `Cannot find the package behind ${meta}: apt-cache shows ${stdout.trim() || "nothing"}`,
    );
  }
  return name;
}

async function ensurePackageLists(names: string[]): Promise<void> {
  const { stdout } = await capture("apt-cache", "show", "--no-all-versions", ...names);
  const known = new Set([...stdout.matchAll(/^Package: (\S+)/gm)].map((match) => match[1]));
  if (names.every((name) => known.has(name))) return;
  say("set-up: reading Debian's package lists (apt-get update)");
  await retried("apt-get update", asRoot(["apt-get", "update"]));
}

/** Package servers now and then refuse or stall; a second try mostly goes through. */
async function retried(what: string, command: string[], cwd?: string): Promise<void> {
  let complaint = "";
  for (let attempt = 1; attempt <= 3; attempt++) {
    const { status, stdout, stderr } = await capture(
      "env",
      ...(cwd ? ["-C", cwd] : []),
      ...command,
    );
    // apt-get update exits with 0 even when it could fetch nothing
    if (status === 0 && !/^(Err:|E: |W: Failed to fetch)/m.test(stdout + stderr)) return;
    complaint = lastLines(stderr, 4);
    say(`set-up: ${what} failed, attempt ${attempt} of 3`);
  }
  throw new SetupError(`Cannot finish ${what}: ${complaint}`);
}

async function privileged(command: string[]): Promise<{ status: number; stderr: string }> {
  const [program = "", ...args] = asRoot(command);
  return await capture(program, ...args);
}

function asRoot(command: string[]): string[] {
  if (Deno.uid() === 0) return command;
  const sudo = exists("/usr/bin/sudo") &&
    new Deno.Command("sudo", { args: ["-n", "true"], stdout: "null", stderr: "null" }).outputSync()
      .success;
  if (sudo) return ["sudo", "-n", ...command];
  throw new SetupError(`this needs root rights; run: sudo ${command.join(" ")}`);
}

/** Says every second how far a download is; the function returned stops that. */
function reportGrowth(name: string, file: string, size: number): () => void {
  const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(0);
  say(`set-up: downloading ${name}, ${megabytes(size)} MB`);
  const timer = setInterval(() => {
    const bytes = exists(file) ? Deno.statSync(file).size : 0;
    say(`set-up: downloading ${name}, ${megabytes(bytes)} of ${megabytes(size)} MB`);
  }, 1000);
  return () => clearInterval(timer);
}
