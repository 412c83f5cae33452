// Runs examples in the process of the test: an emulated processor takes seconds to start a program.
import { assertEquals } from "@std/assert";
import { type Ending, freshPort, untilListening } from "../programs.ts";
import { until } from "../setup.ts";

/** The main function of an example. */
export type Main = (args: readonly string[]) => Promise<number>;

/** An example that runs. Disposing it ends it if it still runs. */
export interface Running extends AsyncDisposable {
  /** What it and its clients in this process have printed so far. */
  readonly printed: { readonly stdout: string; readonly stderr: string };
  readonly ending: Promise<Ending>;
}

/** Starts an example, and keeps what this process prints until it ends. */
export function startHere(main: Main, ...args: readonly string[]): Running {
  return start(() => main(args));
}

function start(run: () => Promise<number>): Running {
  const { log, error } = console;
  const printed = { stdout: "", stderr: "" };
  console.log = (...values) => void (printed.stdout += `${values.join(" ")}\n`);
  console.error = (...values) => void (printed.stderr += `${values.join(" ")}\n`);
  let isRunning = true;
  const ending = run().finally(() => {
    isRunning = false;
    Object.assign(console, { log, error });
  }).then((code) => ({ code, signal: null, ...printed }));
  const dispose = async (): Promise<void> => {
    if (isRunning) Deno.kill(Deno.pid, "SIGTERM");
    await ending;
  };
  return { printed, ending, [Symbol.asyncDispose]: dispose };
}

/** Runs an example to its end. */
export async function runHere(main: Main, ...args: readonly string[]): Promise<Ending> {
  return await startHere(main, ...args).ending;
}

/** Runs the server of an example, lets the test be its client, and ends the server. */
export async function serve(
  main: Main,
  args: readonly string[],
  client: (tcpPort: number) => Promise<void>,
): Promise<Ending> {
  const tcpPort = freshPort();
  const running = startHere(main, "--listen", `--tcp-port=${tcpPort}`, ...args);
  {
    await using _ = running;
    await untilListening(tcpPort);
    await client(tcpPort);
  }
  return await running.ending;
}

/** Runs the server and the client of an example, which meet over TCP, and ends the server. */
export async function runEnds(main: Main, ...args: readonly string[]): Promise<Ending> {
  return await serve(main, args, (tcpPort) => connect(main, tcpPort, args));
}

/** Runs a server that ends by itself, and its client. */
export async function runPair(main: Main, ...args: readonly string[]): Promise<Ending> {
  const tcpPort = freshPort();
  return await start(async () => {
    const serving = main(["--listen", `--tcp-port=${tcpPort}`, ...args]);
    await untilListening(tcpPort);
    await connect(main, tcpPort, args);
    return await serving;
  }).ending;
}

async function connect(main: Main, tcpPort: number, args: readonly string[]): Promise<void> {
  const code = await main(["--connect=127.0.0.1", `--tcp-port=${tcpPort}`, ...args]);
  assertEquals(code, 0, "the client failed");
}

/** Asserts that a program went well, and returns the lines that it printed. */
export function linesOf({ code, stdout, stderr }: Ending): string[] {
  assertEquals([stderr, code], ["", 0]);
  return stdout.trimEnd().split("\n");
}

/** Comes back once an example has printed a text. */
export async function untilPrinted({ printed }: Running, text: string): Promise<void> {
  await until(`"${text}" in the output`, () => printed.stdout.includes(text));
}

/** Exchanges a value with an example that listens on a TCP port. */
export async function exchange(port: number, value: unknown): Promise<unknown> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode(`${JSON.stringify(value)}\n`));
  const buffer = new Uint8Array(1024);
  const count = await connection.read(buffer);
  return JSON.parse(new TextDecoder().decode(buffer.subarray(0, count ?? 0)));
}
