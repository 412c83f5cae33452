// Programs of the documents, and what they print.

import { assertEquals } from "@std/assert";
import { writeSnippets } from "../../../tools/docs/documents.ts";
import { differenceFrom, type Fence } from "../../../tools/docs/fences.ts";
import { project } from "../../../tools/host/paths.ts";
import { importMap } from "../programs.ts";

/** Only reached by what hangs; emulated guests are slow. */
const PATIENCE_MS = 60_000;

/** A program under way. */
export interface Running {
  readonly pid: number;
  /** Its first line of output; `undefined` if it ends without one. */
  readonly firstLine: Promise<string | undefined>;
  /** Whether it has ended. */
  readonly ended: boolean;
  /** Ends it. */
  kill(): void;
}

/** How a program ended. */
export interface Ending {
  readonly code: number;
  /** A program that runs until it is stopped ends by a signal. */
  readonly signal: Deno.Signal | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Sends to a program while it runs. */
export type Peer = (program: Running) => Promise<void>;

/**
 * Runs programs, one after the other in one process: an emulated processor takes seconds to start one. They must end by
 * themselves, and print what is shown.
 */
export async function runTogether(
  fences: readonly Fence[],
  allow: readonly string[] = [],
): Promise<void> {
  await using written = await writeSnippets(fences);
  const mark = "== next program";
  const imports = written.files.map((file) =>
    `await import("${file}");\nconsole.log("${mark}");\n`
  );
  const all = `${written.files[0]}.all.ts`;
  await Deno.writeTextFile(all, imports.join(""));
  const { code, stdout, stderr } = await runProgram(all, { allow });
  const printed = stdout.split(`${mark}\n`);
  const reached = fences[printed.length - 1];
  assertEquals([stderr, code], ["", 0], `${reached?.document}, line ${reached?.line}`);
  const differences = fences.map(({ output }, i) =>
    output === undefined ? undefined : differenceFrom(output, printed[i]!)
  );
  assertEquals(differences, fences.map(() => undefined));
}

/** Runs a program as the documents say, with a peer if it needs one. A program that does not end is killed. */
export async function runProgram(
  file: string,
  { peer, allow = [] }: { readonly peer?: Peer | undefined; readonly allow?: readonly string[] },
): Promise<Ending> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-check",
      "--no-prompt",
      ...importMap(),
      "--allow-ffi",
      ...allow,
      file,
    ],
    cwd: project,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let ended = false;
  const kill = (): void => {
    if (!ended) child.kill("SIGKILL");
  };
  const timer = setTimeout(kill, PATIENCE_MS);
  const first = Promise.withResolvers<string | undefined>();
  const texts = Promise.all([
    textOf(child.stdout, first.resolve),
    textOf(child.stderr, () => {}),
  ]);
  const status = child.status.finally(() => ended = true);
  const running: Running = {
    pid: child.pid,
    firstLine: first.promise,
    get ended() {
      return ended;
    },
    kill,
  };
  try {
    await peer?.(running);
  } catch (error) {
    kill();
    throw new Error(`Cannot send to the program: ${(await texts)[1]}`, { cause: error });
  } finally {
    await status;
    clearTimeout(timer);
  }
  const [{ code, signal }, [stdout, stderr]] = await Promise.all([status, texts]);
  return { code, signal, stdout, stderr };
}

type TextStream = ReadableWritablePair<string, Uint8Array>;

/** All that a stream gives. `first` is called with its first line, or when it ends without one. */
async function textOf(
  stream: ReadableStream<Uint8Array>,
  first: (line: string | undefined) => void,
): Promise<string> {
  let text = "";
  for await (const part of stream.pipeThrough(new TextDecoderStream() as TextStream)) {
    text += part;
    if (text.includes("\n")) first(text.slice(0, text.indexOf("\n")));
  }
  first(undefined);
  return text;
}
