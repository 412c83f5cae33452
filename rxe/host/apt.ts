/** Running apt-get. */

import { say, SetupError } from "./report.ts";
import { capture, exists, lastLines, start } from "./shell.ts";

/**
 * Apt accepts only signed packages, as by default, even if the host's configuration permits others: it checks the
 * signature of each list, and the SHA-256 of each package in a list.
 */
export const SIGNED_ONLY: readonly string[] = [
  "APT::Get::AllowUnauthenticated=false",
  "Acquire::AllowInsecureRepositories=false",
  "Acquire::AllowWeakRepositories=false",
  "Acquire::AllowDowngradeToInsecureRepositories=false",
].flatMap((setting) => ["-o", setting]);

/** Something that only root may do, if this user is not root and sudo needs a password. */
export class RightsError extends SetupError {
  override name = "RightsError";

  constructor(remedy: string) {
    super(`this needs root rights; run: ${remedy}`);
  }
}

/** Runs an action that relies on the package lists; if it fails, once more after reading them anew. */
export async function withFreshLists<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof SetupError) || error instanceof RightsError || listsAreFresh) {
      throw error;
    }
    say(`set-up: ${error.message}`);
    await updateLists();
    return await action();
  }
}

/** Reads the package lists if they lack one of these packages. */
export async function ensureListed(names: readonly string[]): Promise<void> {
  const { stdout } = await capture("apt-cache", "show", "--no-all-versions", ...names);
  const known = new Set([...stdout.matchAll(/^Package: (\S+)/gm)].map((match) => match[1]));
  if (!names.every((name) => known.has(name))) await updateLists();
}

let listsAreFresh = false;

async function updateLists(): Promise<void> {
  if (listsAreFresh) return;
  listsAreFresh = true;
  say("set-up: reading Debian's package lists (apt-get update)");
  await readLists(asRoot(["apt-get", ...SIGNED_ONLY, "update"], "sudo apt-get update"));
}

/** Runs a command that reads package lists. */
export async function readLists(command: [string, ...string[]]): Promise<void> {
  // Package servers sometimes refuse or stall; a second try mostly succeeds.
  for (let attempt = 1;; attempt++) {
    const { status, stdout, stderr } = await capture(...command);
    // Even when it could fetch nothing its status is 0.
    if (status === 0 && !/^(Err:|E: |W: Failed to fetch)/m.test(stdout + stderr)) return;
    say(`set-up: apt-get update failed, attempt ${attempt} of 3`);
    if (attempt < 3) continue;
    throw new SetupError(`Cannot read Debian's package lists: ${lastLines(stderr, 4)}`);
  }
}

/** Installs packages, saying how far it is. */
export async function install(names: readonly string[]): Promise<void> {
  const command = ["apt-get", "install", "--yes", "--no-install-recommends", ...names];
  const settings = ["APT::Keep-Downloaded-Packages=false", "DPkg::Lock::Timeout=60"];
  const remedy = `sudo apt-get update && sudo ${command.join(" ")}`;
  const words = asRoot(withStatus(command, settings), remedy);
  await ensureListed(names);
  const errors = await runWithStatus(words);
  if (errors === undefined) return;
  throw new SetupError(`Cannot install packages: ${errors}\nBy hand: ${remedy}`);
}

/** The words that run apt-get so that it says how far it is. */
export function withStatus(
  command: readonly string[],
  settings: readonly string[] = [],
): [string, ...string[]] {
  const options = ["APT::Status-Fd=3", ...settings].flatMap((setting) => ["-o", setting]);
  // If the standard output carried the status, scripts of packages would find it closed.
  return ["sh", "-c", 'exec "$0" "$@" 3>&1 >/dev/null', ...command, ...SIGNED_ONLY, ...options];
}

/** Runs such a command and shows its status. The result is its error; undefined if it succeeds. */
export async function runWithStatus([program, ...args]: [string, ...string[]]): Promise<
  string | undefined
> {
  const process = start(program, {
    args,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    env: { LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive" },
  });
  const [stderr, { success }] = await Promise.all([
    new Response(process.stderr).text(),
    process.status,
    showProgress(process.stdout),
  ]);
  if (success) return undefined;
  return stderr.split("\n").filter((line) => /error|^E:/i.test(line)).slice(0, 4).join("\n");
}

async function showProgress(stdout: ReadableStream<Uint8Array>): Promise<void> {
  let said = Date.now();
  for await (const text of stdout.pipeThrough(new TextDecoderStream())) {
    const status = parseStatus(text);
    if (status === undefined || Date.now() - said < 2000) continue;
    said = Date.now();
    say(`set-up: ${status}`);
  }
}

/** The last of apt-get's status lines (`pmstatus:gcc:51.2:Unpacking gcc`) in a text, for the user. */
export function parseStatus(text: string): string | undefined {
  const found = text.match(/.*^(dl|pm)status:[^\n]*?:([\d.]+):([^\n]*)/ms);
  if (found === null) return undefined;
  const [, kind, percent, what] = found;
  const stage = kind === "dl" ? "download" : "installation";
  return `${stage} ${Math.round(Number(percent))} %, ${what!.trim()}`;
}

/** Makes a command run with root rights; if that is not possible, `remedy` says what to do. */
function asRoot(command: string[], remedy: string): [string, ...string[]] {
  if (Deno.uid() === 0) return command as [string, ...string[]];
  const sudo = exists("/usr/bin/sudo") &&
    new Deno.Command("sudo", { args: ["-n", "true"], stdout: "null", stderr: "null" }).outputSync()
      .success;
  if (!sudo) throw new RightsError(remedy);
  // sudo drops the variables it was started with.
  return ["sudo", "-n", "env", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive", ...command];
}
