/** Two processes that send messages to each other, each on a processor of its own. See c/pair.c for what they read and print. */

import { callsTable, traced } from "./calls.ts";
import { Contender, keep, warmUp, withLibrary } from "./contender.ts";
import type { Sample } from "./measurement.ts";
import type { Entry, Programs } from "./row.ts";

/** A program, and what it does. "old" is the program of Deno with the package of `--old`. */
type End = readonly [language: "c" | "deno" | "old" | "python", kind: string];

const ROLES = ["server", "client"] as const;

/** How two processes exchange messages. */
export interface Exchange {
  /** The server or the client, if it is another program. */
  readonly server?: End;
  readonly client?: End;
  /** Messages that are sent at a time: 1, if it is left out. The value of more is the mean, not the median. */
  readonly window?: number;
  /** Microseconds from one message to the next. */
  readonly interval?: number;
  /** Microseconds that the server takes for an answer. */
  readonly delay?: number;
  /** Nanoseconds that a message is on its way: what the device takes, if it is left out. */
  readonly deviceNs?: number;
  /** The argument of the programs: the bytes of a message, or the number of peers. */
  readonly number?: number;
  /** Whether both processes have one processor. */
  readonly isShared?: boolean;
  /** Whose processor time is taken: that of both, if it is left out. */
  readonly spender?: (typeof ROLES)[number];
  /** Whether the processes go on from round to round. */
  readonly isKept?: boolean;
  /** Whether it is in the guest, where starting a process takes seconds. */
  readonly inGuest?: boolean;
}

const here = new URL(".", import.meta.url).pathname;

function commandOf(end: End, index: 0 | 1, exchange: Exchange, programs: Programs): string[] {
  const { inGuest, isShared, number } = exchange;
  const [language, kind] = end;
  const deno = (map: string): string[] => [
    ...[Deno.execPath(), "run", "-A", "--no-check", "--unstable-net"],
    ...[`--import-map=${programs[map]}`, `${here}deno/pair.ts`],
  ];
  const program = {
    c: [programs["pair"]!],
    python: ["/usr/bin/python3", "-B", `${here}python/pair.py`],
    deno: deno("importMap"),
    old: deno("oldImportMap"),
  }[language];
  const words = number === undefined ? [] : [`${number}`];
  return [
    ...inGuest ? [] : WITH_PARENT,
    ...navigator.hardwareConcurrency === 1 ? [] : ["taskset", "-c", `${isShared ? 0 : index}`],
    ...isShared ? USUAL : [],
    ...[...program, ROLES[index], kind, ...words],
  ];
}

/** What polls would go on for ever when the bench is killed. */
const WITH_PARENT = ["setpriv", "--pdeathsig", "KILL"];
/** Ends that share a processor are scheduled as usual: one that spins before others keeps the other end from running. */
const USUAL = ["chrt", "--other", "0"];

let devices = 0;

class Pair implements AsyncDisposable {
  readonly server: Contender;
  readonly client: Contender;
  readonly #exchange: Exchange;
  /** What a device by shared memory is kept in. */
  readonly #file = `/dev/shm/ibverbs-bench-${Deno.pid}-${devices++}`;
  isWarm = false;

  private constructor(end: End, exchange: Exchange, programs: Programs) {
    this.#exchange = exchange;
    const start = (end: End, index: 0 | 1): Contender => {
      const name = `${end[1]}, ${ROLES[index]}`;
      const command = commandOf(end, index, exchange, programs);
      return new Contender(name, command, this.#environment(end, programs));
    };
    this.server = start(exchange.server ?? end, 0);
    this.client = start(exchange.client ?? end, 1);
  }

  #environment([language]: End, programs: Programs): Record<string, string> | undefined {
    const { inGuest, deviceNs } = this.#exchange;
    if (inGuest) return undefined;
    const isPreloaded = language === "c" || language === "python";
    return {
      ...withLibrary(isPreloaded, programs["shm"]!),
      IBVERBS_SHM: this.#file,
      ...deviceNs === undefined ? {} : { IBVERBS_SHM_DELAY_NS: `${deviceNs}` },
    };
  }

  /** Starts two processes, and gives each the address of the other one. */
  static async start(end: End, exchange: Exchange, programs: Programs): Promise<Pair> {
    const pair = new Pair(end, exchange, programs);
    await using starting = new AsyncDisposableStack();
    starting.use(pair);
    await pair.server.tell(await pair.client.line());
    await pair.client.tell(await pair.server.line());
    await Promise.all([pair.server.line(), pair.client.line()]);
    starting.move();
    return pair;
  }

  /** So many messages and their answers. Returns the sample of the client, and the processor time of a message. */
  async play(count: number): Promise<Sample> {
    const { window = 1, interval = 0, delay = 0, spender } = this.#exchange;
    const ends = [this.server, this.client];
    const spent = ends.filter((_, i) => (spender ?? ROLES[i]) === ROLES[i]).map(stopwatch);
    // A window that has no end is as long as there are messages.
    const words = [count, Math.min(window, count), interval, delay] as const;
    const [, sample] = await Promise.all(ends.map((end) => end.ask(...words)));
    const processor = spent.reduce((sum, stop) => sum + stop(), 0) / count;
    return { ...sample!, ...window > 1 ? { value: sample!["mean"]! } : {}, processor };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.server[Symbol.asyncDispose](), this.client[Symbol.asyncDispose]()]);
    if (!this.#exchange.inGuest) await Deno.remove(this.#file).catch(() => {});
  }
}

/** Has a pair do some work. */
async function withPair<T>(
  end: End,
  exchange: Exchange,
  programs: Programs,
  work: (pair: Pair) => Promise<T>,
): Promise<T> {
  const start = (): Promise<Pair> => Pair.start(end, exchange, programs);
  if (exchange.isKept) return await work((await keep(`${end}`, start)).process);
  await using pair = await start();
  return await work(pair);
}

/** Milliseconds of a round, and of a warm-up without gain. In the guest a round has all its messages. */
const ROUND_MS = 120;
const PATIENCE_MS = 150;
const PATIENCE_IN_GUEST_MS = 1500;

/** A sample of as many messages as a round has time for, at most `most`. */
async function sampleOf(pair: Pair, most: number, exchange: Exchange): Promise<Sample> {
  const { inGuest, window = 1 } = exchange;
  const unit = Number.isFinite(window) ? window : LONGEST_BURST;
  const whole = (count: number): number => Math.ceil(count / unit) * unit;
  let eachMs = 0;
  const play = async (count: number): Promise<Sample> => {
    const start = performance.now();
    const sample = await pair.play(count);
    eachMs = (performance.now() - start) / count;
    return sample;
  };
  if (!pair.isWarm) {
    const few = whole(inGuest ? most : most / 100);
    await warmUp(() => play(few), inGuest ? PATIENCE_IN_GUEST_MS : PATIENCE_MS);
    pair.isWarm = true;
  }
  return await play(whole(inGuest ? most : Math.min(most, ROUND_MS / eachMs)));
}

/** The most messages that a stream posts together. See c/pair.c. */
const LONGEST_BURST = 16;

/** Messages whose system calls are counted. */
const TRACED = 500;

/** Kinds of Deno that use no library. */
const SOCKETS = ["datagram", "datagram_relay", "dgram", "tcp", "tcp_stream"];

type Work = (end: End) => Omit<Entry, "who" | "old">;

/** A contender, and the same one with an old package. */
function entryOf(who: string, end: End, work: Work): Entry {
  const [language, kind] = end;
  if (language !== "deno" || SOCKETS.includes(kind)) return { who, ...work(end) };
  return { who, ...work(end), old: { who: `${who}, old`, ...work(["old", kind]) } };
}

/** The time is that of a message and its answer, `processor` that of both ends if nothing else is said. */
export function pair(who: string, end: End, exchange: Exchange = {}): Entry {
  return entryOf(who, end, (end) => ({
    measure: (count, programs) =>
      withPair(end, exchange, programs, (pair) => sampleOf(pair, count, exchange)),
    trace: (count, programs) =>
      withPair(end, exchange, programs, async (pair) => {
        const messages = Math.min(count, TRACED);
        await pair.play(messages);
        const pids = [pair.server.pid, pair.client.pid];
        return callsTable(who, await traced(pids, () => pair.play(messages)), messages);
      }),
  }));
}

/** Milliseconds: V8 works on after a start, and a server after an answer. */
const STARTED_MS = 1500;
const ANSWERED_MS = 200;
const IDLE_MS = 1000;

/** Processor time of a server in a second: it has answered, and waits for the next message, or nobody waits there. */
export function idle(who: string, end: End, isAwaited: boolean, exchange: Exchange): Entry {
  const kept = { ...exchange, isKept: true };
  return entryOf(who, end, (end) => ({
    measure: (_count, programs) =>
      withPair(end, kept, programs, async (pair) => {
        await pair.play(10);
        if (!pair.isWarm) await sleep(STARTED_MS);
        pair.isWarm = true;
        const answered = isAwaited ? pair.server.ask(1, 1, 0, 0) : undefined;
        await sleep(ANSWERED_MS);
        const spent = stopwatch(pair.server);
        await sleep(IDLE_MS);
        const value = spent() * 1000 / IDLE_MS;
        if (answered !== undefined) await Promise.all([answered, pair.client.ask(1, 1, 0, 0)]);
        return { value };
      }),
  }));
}

async function sleep(milliseconds: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Takes the processor time of a process: nanoseconds of all threads that it has at the end. */
export function stopwatch({ pid }: Contender): () => number {
  const folder = `/proc/${pid}/task`;
  const read = (thread: string): number =>
    Number(Deno.readTextFileSync(`${folder}/${thread}/schedstat`).split(" ")[0]);
  const threads = (): string[] => [...Deno.readDirSync(folder)].map(({ name }) => name);
  const before = new Map(threads().map((thread) => [thread, read(thread)]));
  const spent = (thread: string): number => read(thread) - (before.get(thread) ?? 0);
  return () => threads().map(spent).reduce((a, b) => a + b, 0);
}
