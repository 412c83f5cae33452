/** Two processes that send messages to each other, each on a processor of its own. See c/pair.c for what they read and print. */

import { callsTable, traced } from "./calls.ts";
import { Contender, keep, warmUp } from "./contender.ts";
import type { Sample } from "./measurement.ts";
import type { Entry, Programs } from "./row.ts";

/** A program, and what it does. */
type End = readonly [language: "c" | "deno" | "python", kind: string];

const here = new URL(".", import.meta.url).pathname;
const ROLES = ["server", "client"] as const;

function commandOf([language, kind]: End, index: 0 | 1, programs: Programs): string[] {
  const pinned = navigator.hardwareConcurrency > 1 ? ["taskset", "-c", `${index}`] : [];
  const deno = [Deno.execPath(), "run", "-A", "--no-check", "--unstable-net"];
  const program = {
    c: [programs["pair"]!],
    python: ["/usr/bin/python3", "-B", `${here}python/pair.py`],
    deno: [...deno, `--import-map=${programs["importMap"]}`, `${here}deno/pair.ts`],
  }[language];
  return [...pinned, ...program, ROLES[index], kind];
}

class Pair implements AsyncDisposable {
  readonly server: Contender;
  readonly client: Contender;
  isWarm = false;

  private constructor(server: End, client: End, programs: Programs) {
    this.server = new Contender(`${server[1]}, server`, commandOf(server, 0, programs));
    this.client = new Contender(`${client[1]}, client`, commandOf(client, 1, programs));
  }

  /** Starts two processes, and tells each the address of the other one. */
  static async start(server: End, client: End, programs: Programs): Promise<Pair> {
    const pair = new Pair(server, client, programs);
    await pair.server.tell(await pair.client.line());
    await pair.client.tell(await pair.server.line());
    await Promise.all([pair.server.line(), pair.client.line()]);
    return pair;
  }

  /** So many messages and their answers, `window` at a time, so far apart. */
  async play(count: number, window = 1, microseconds = 0): Promise<Sample> {
    const ends = [this.server, this.client].map((end) => end.ask(count, window, microseconds));
    return (await Promise.all(ends))[1]!;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.server[Symbol.asyncDispose](), this.client[Symbol.asyncDispose]()]);
  }
}

/** Starts a pair, or gives the one that goes on from round to round. */
async function pairOf(server: End, client: End, programs: Programs): Promise<Pair> {
  const { process } = await keep(`${server} ${client}`, () => Pair.start(server, client, programs));
  return process;
}

/** Both ends are the same program. The time is that of a message and its answer, `processor` that of both ends. */
export function pair(who: string, language: End[0], kind: string, window: number = 1): Entry {
  const end: End = [language, kind];
  return {
    who,
    measure: async (count, programs) => {
      const pair = await pairOf(end, end, programs);
      // A client sends whole windows, and waits for an answer to each message.
      const messages = Math.ceil(count / window) * window;
      const run = async (): Promise<Sample> => {
        const spent = [pair.server, pair.client].map(({ pid }) => stopwatch(pid));
        const sample = await pair.play(messages, window);
        return { ...sample, processor: spent.reduce((sum, stop) => sum + stop(), 0) / messages };
      };
      if (!pair.isWarm) await warmUp(run);
      pair.isWarm = true;
      return await run();
    },
    trace: async (count, programs) => {
      const pair = await pairOf(end, end, programs);
      await pair.play(count, window);
      const logs = await traced([pair.server.pid, pair.client.pid], () => pair.play(count, window));
      return callsTable(who, logs, count);
    },
  };
}

/** The same client for all. */
const CLIENT: End = ["c", "ud_events"];
const IDLE_MS = 10_000;

/** Processor time of a server that has answered, and waits for the next message. */
export function idle(who: string, server: End, client: End = CLIENT): Entry {
  return {
    who,
    measure: async (_count, programs) => {
      const pair = await pairOf(server, client, programs);
      await pair.play(10);
      const answered = pair.server.ask(1, 1, 0);
      await sleep(1000);
      const spent = stopwatch(pair.server.pid);
      await sleep(IDLE_MS);
      const value = spent();
      await Promise.all([answered, pair.client.ask(1, 1, 0)]);
      return { value };
    },
  };
}

async function sleep(milliseconds: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
}

const INTERVAL_US = 1000;

/** Processor time of a server for a message, of 1 000 in a second. */
export function busy(who: string, server: End): Entry {
  return {
    who,
    measure: async (count, programs) => {
      const pair = await pairOf(server, CLIENT, programs);
      await pair.play(count / 4, 1, INTERVAL_US);
      const spent = stopwatch(pair.server.pid);
      await pair.play(count, 1, INTERVAL_US);
      return { value: spent() / count };
    },
  };
}

/** Takes the processor time of a process: nanoseconds of all threads that it has at the end. */
function stopwatch(pid: number): () => number {
  const folder = `/proc/${pid}/task`;
  const read = (thread: string): number =>
    Number(Deno.readTextFileSync(`${folder}/${thread}/schedstat`).split(" ")[0]);
  const threads = (): string[] => [...Deno.readDirSync(folder)].map(({ name }) => name);
  const before = new Map(threads().map((thread) => [thread, read(thread)]));
  const spent = (thread: string): number => read(thread) - (before.get(thread) ?? 0);
  return () => threads().map(spent).reduce((a, b) => a + b, 0);
}
