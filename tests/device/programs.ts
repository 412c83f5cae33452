// Runs programs beside a test: the examples, and the C tools they talk to.

import { library } from "../../ffi/library.ts";

library();

/** How a program ended. */
export interface Ending {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program under way. Leaving its scope ends it. */
export interface Program extends AsyncDisposable {
  /** What it came to. */
  readonly ending: Promise<Ending>;
}

/** Only reached by what hangs; emulated guests are slow. */
const PATIENCE_MS = 120_000;

/** Starts a program of the system. */
export function start(command: string, ...args: string[]): Program {
  const child = new Deno.Command(command, {
    args,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
  const ending = child.output().then(({ code, stdout, stderr }) => {
    clearTimeout(timer);
    const decoder = new TextDecoder();
    return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
  });
  const dispose = async (): Promise<void> => {
    try {
      child.kill("SIGKILL");
    } catch {
      // it has ended by itself
    }
    await ending;
  };
  return { ending, [Symbol.asyncDispose]: dispose };
}

/** What an example may do unless a test says otherwise. */
const PERMISSIONS = ["--allow-ffi", "--allow-net", "--allow-env"];

/** Starts an example, by its name. */
export function startExample(
  name: string,
  args: readonly string[],
  permissions: readonly string[] = PERMISSIONS,
): Program {
  const file = new URL(`../../examples/${name}.ts`, import.meta.url).pathname;
  const options = ["--quiet", "--no-check", "--no-prompt", ...importMap(), ...permissions];
  return start(Deno.execPath(), "run", ...options, file, ...args);
}

/** Where @std comes from: the same place as for this process. */
export function importMap(): string[] {
  const resolved = import.meta.resolve("@std/cli/parse-args");
  if (!resolved.startsWith("file:")) return [];
  return [`--import-map=${new URL("import_map.json", resolved).pathname}`];
}

let lastPort = 19_200;

/** A TCP port that no other test uses. */
export function freshPort(): number {
  return ++lastPort;
}

/** Comes back once somebody listens on a TCP port; throws if nobody ever does. */
export async function untilListening(port: number): Promise<void> {
  const LISTEN = "0A";
  const pattern = new RegExp(`:${hex(port)} [0-9A-F]+:0000 ${LISTEN} `);
  const end = Date.now() + PATIENCE_MS;
  while (!sockets().some((table) => pattern.test(table))) {
    if (Date.now() > end) throw new Error(`Cannot go on: nobody listens on port ${port}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function sockets(): string[] {
  return ["/proc/net/tcp", "/proc/net/tcp6"].map((file) => Deno.readTextFileSync(file));
}

function hex(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, "0");
}
