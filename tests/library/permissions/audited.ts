// Runs programs with some permissions, and reports which ones they asked for.

import { stdOptions } from "../../subprocess.ts";

/** A permission that a program asked for, such as "ffi libibverbs.so.1". */
export type Asked = `${string} ${string}`;

/** How a program ended. */
export interface Audited {
  /** Its status; undefined if it was ended because it goes on by itself. */
  readonly code: number | undefined;
  readonly output: string;
  readonly asked: ReadonlySet<Asked>;
}

/** Options of {@linkcode audited}. */
export interface AuditOptions {
  readonly env?: Record<string, string>;
  /** Kinds of permission after which a program that does not end by itself is ended. */
  readonly until?: readonly string[];
}

/** Only what hangs takes so long. */
const PATIENCE_MS = 60_000;
/** How long a program may go on after it has asked for all that it needs. */
const GRACE_MS = 700;

const ROOT = new URL("../../../", import.meta.url);

/** The names of this package, and where @std comes from: the same place as for this process. */
function names(): string[] {
  return [`--config=${new URL("deno.json", ROOT).pathname}`, ...stdOptions()];
}

/** Runs a module of the project with permissions and arguments. Nobody is there to give it more permissions. */
export async function audited(
  permissions: readonly string[],
  [file, ...args]: readonly string[],
  { env = {}, until }: AuditOptions = {},
): Promise<Audited> {
  const report = await Deno.makeTempFile();
  const options = ["--quiet", "--no-check", "--no-prompt", ...names(), ...permissions];
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", ...options, new URL(file!, ROOT).pathname, ...args],
    env: { NO_COLOR: "1", DENO_AUDIT_PERMISSIONS: report, ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let isOver = false;
  const ending = child.output().finally(() => isOver = true);
  const latest = performance.now() + PATIENCE_MS;
  let satisfied = Infinity;
  while (!isOver && performance.now() < Math.min(latest, satisfied + GRACE_MS)) {
    await endOrPause(ending);
    const kinds = kindsOf(await askedIn(report));
    if (until?.every((kind) => kinds.has(kind))) satisfied = Math.min(satisfied, performance.now());
  }
  const wasEnded = !isOver && end(child);
  const { code, stdout, stderr } = await ending;
  const asked = await askedIn(report);
  await Deno.remove(report);
  const decoder = new TextDecoder();
  const output = decoder.decode(stdout) + decoder.decode(stderr);
  return { code: wasEnded ? undefined : code, output, asked };
}

/** Ends a program. Returns false if it has ended by itself. */
function end(child: Deno.ChildProcess): boolean {
  try {
    child.kill("SIGKILL");
    return true;
  } catch {
    return false;
  }
}

async function endOrPause(ending: Promise<unknown>): Promise<void> {
  const pause = Promise.withResolvers<void>();
  const timer = setTimeout(pause.resolve, 50);
  await Promise.race([ending, pause.promise]);
  clearTimeout(timer);
}

async function askedIn(report: string): Promise<Set<Asked>> {
  const lines = (await Deno.readTextFile(report)).split("\n");
  // The last line may be under way.
  const entries = lines.slice(0, -1).map((line) => JSON.parse(line));
  return new Set(entries.map(({ permission, value }): Asked => `${permission} ${value ?? "all"}`));
}

/** The kinds of some permissions. */
export function kindsOf(asked: Iterable<Asked>): Set<string> {
  return new Set([...asked].map((one) => one.split(" ")[0]!));
}

/** Runs a module, given as text; "mod.ts" in quotes and the like are files of the project. */
export async function auditedText(
  permissions: readonly string[],
  text: string,
  options?: AuditOptions,
): Promise<Audited> {
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  const resolved = text.replaceAll(
    /"((?:\w+\/)*(?:mod|rss|cm|efa|testing)\.ts)"/g,
    (_, name) => JSON.stringify(new URL(name, ROOT).href),
  );
  await Deno.writeTextFile(file, resolved);
  try {
    return await audited(permissions, [file], options);
  } finally {
    await Deno.remove(file);
  }
}
