// Runs programs beside a test: the examples, the C tools they talk to, and peers.

import { library } from "../../ffi/library.ts";
import { bundleOptions, stdOptions } from "../subprocess.ts";

library();

/** How a program ended. */
export interface Ending {
  readonly code: number;
  /** The signal that ended it, if any. */
  readonly signal: Deno.Signal | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What an example may do unless a test says otherwise. */
const PERMISSIONS = ["--allow-ffi", "--allow-net", "--allow-env"];
/** Only reached by what hangs; emulated guests are slow. */
const PATIENCE_MS = 300_000;

/** A program under way. Leaving its scope ends it. */
export class Program implements AsyncDisposable {
  readonly ending: Promise<Ending>;
  readonly #child: Deno.ChildProcess;
  readonly #lines: AsyncGenerator<string, undefined>;
  #ended = false;

  /** Starts a program of the system. */
  constructor(
    command: string,
    args: readonly string[],
    options: Pick<Deno.CommandOptions, "cwd" | "env"> = {},
  ) {
    const piped = { stdin: "piped", stdout: "piped", stderr: "piped" } as const;
    this.#child = new Deno.Command(command, { ...options, ...piped, args: [...args] }).spawn();
    const [whole, part] = this.#child.stdout.tee();
    this.#lines = linesOf(part);
    this.ending = this.#end(whole);
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Whether it has ended. */
  get ended(): boolean {
    return this.#ended;
  }

  async #end(output: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<Ending> {
    const timer = setTimeout(() => this.kill(), PATIENCE_MS);
    const [stdout, stderr, { code, signal }] = await Promise.all([
      new Response(output).text(),
      new Response(this.#child.stderr).text(),
      this.#child.status,
    ]);
    clearTimeout(timer);
    this.#ended = true;
    return { code, signal, stdout, stderr };
  }

  /** Its next line of output; `undefined` at the end. */
  async line(): Promise<string | undefined> {
    return (await this.#lines.next()).value;
  }

  /** Its next line of output, which is JSON. */
  async hear(): Promise<unknown> {
    const line = await this.line();
    if (line !== undefined) return JSON.parse(line);
    throw new Error(`Cannot go on: the program has ended: ${(await this.ending).stderr}`);
  }

  /** Writes to its input. */
  async write(text: string): Promise<void> {
    const writer = this.#child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(text));
    writer.releaseLock();
  }

  /** Writes a line of JSON. */
  async tell(value: unknown): Promise<void> {
    await this.write(`${JSON.stringify(value)}\n`);
  }

  /** Ends its input. */
  async endInput(): Promise<void> {
    await this.#child.stdin.close();
  }

  /** Ends it, and comes back when it is gone. */
  async kill(signal: Deno.Signal = "SIGKILL"): Promise<void> {
    try {
      this.#child.kill(signal);
    } catch {
      // It is gone already.
    }
    await this.#child.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await this.endInput().catch(() => {});
    await this.ending;
  }
}

async function* linesOf(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<string, undefined> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
  return undefined;
}

/** Starts a program of the system. */
export function start(command: string, ...args: readonly string[]): Program {
  return new Program(command, args);
}

/** The command that runs a program of Deno. */
export function denoCommand(
  file: string,
  args: readonly string[],
  permissions: readonly string[] = ["--allow-all"],
): [string, ...string[]] {
  const options = ["--quiet", "--no-check", "--no-prompt", ...importMap(), ...permissions];
  return [Deno.execPath(), "run", ...options, file, ...args];
}

/** Starts a program of Deno. */
export function startDeno(
  file: string,
  args: readonly string[],
  permissions?: readonly string[],
  options?: Pick<Deno.CommandOptions, "cwd" | "env">,
): Program {
  const [command, ...all] = denoCommand(file, args, permissions);
  return new Program(command, all, options);
}

/** Starts an example, by its name. */
export function startExample(
  name: string,
  args: readonly string[],
  permissions: readonly string[] = PERMISSIONS,
): Program {
  const file = new URL(`../../examples/${name}.ts`, import.meta.url).pathname;
  return startDeno(file, args, permissions);
}

/**
 * Where imports lead: @std to the same place as for this process, those of the package to its bundles where somebody has
 * built them.
 */
export function importMap(): string[] {
  const bundles = bundleOptions();
  return bundles.length === 0 ? stdOptions() : bundles;
}

/** Linux gives ports from 32768 on to those who ask for any. */
const [FIRST_PORT, PORTS] = [16_384, 16_384];

/** A TCP port that nobody uses. Tests of other processes choose theirs at the same time, so it is any of many. */
export function freshPort(): number {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    if (isFree(port)) return port;
  }
}

function isFree(port: number): boolean {
  try {
    Deno.listen({ hostname: "0.0.0.0", port }).close();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) return false;
    throw error;
  }
}

/** Comes back once somebody listens on a TCP port; throws if nobody ever does. */
export async function untilListening(port: number): Promise<void> {
  const LISTEN = "0A";
  const digits = port.toString(16).toUpperCase().padStart(4, "0");
  const pattern = new RegExp(`:${digits} [0-9A-F]+:0000 ${LISTEN} `);
  const sockets = (): string[] =>
    ["/proc/net/tcp", "/proc/net/tcp6"].map((file) => Deno.readTextFileSync(file));
  const end = Date.now() + PATIENCE_MS;
  while (!sockets().some((table) => pattern.test(table))) {
    if (Date.now() > end) throw new Error(`Cannot go on: nobody listens on port ${port}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
