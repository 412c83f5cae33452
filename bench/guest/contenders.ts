/** The processes that do the work of the guest's rows. They go on from round to round. */

import type { Sample } from "../measurement.ts";
import { ConnectionPair } from "./connection_pair.ts";
import { runPerftest, type Test } from "./perftest.ts";
import { Contender } from "../process.ts";

export type Programs = Readonly<Record<string, string>>;

export type Language = "c" | "deno" | "python";

const here = new URL(".", import.meta.url).pathname;
/** Long enough for a process to fall asleep in between, and short beside all else. */
const WAKE_UP_MICROSECONDS = 3000;
const BUSY_MICROSECONDS = 1000;

const processes = new Map<Language, Contender>();

function processOf(language: Language, programs: Programs): Contender {
  const started = processes.get(language) ?? start(language, programs);
  processes.set(language, started);
  return started;
}

function start(language: Language, programs: Programs): Contender {
  const command = language === "c"
    ? [programs["guest"]!]
    : commandOf(language, programs, "contender");
  return new Contender(language, command).unref();
}

/** How a program of this folder is run. Those of Deno import the package as it is published. */
function commandOf(language: "deno" | "python", programs: Programs, program: string): string[] {
  if (language === "python") return ["/usr/bin/python3", `${here}python/${program}.py`];
  const flags = ["-A", "--no-check", "--unstable-net"];
  const map = `--import-map=${programs["importMap"]}`;
  return [Deno.execPath(), "run", ...flags, map, `${here}deno/${program}.ts`];
}

/** Has a contender run a round of so many operations, in so many parts. */
export async function ask(
  language: Language,
  programs: Programs,
  round: string,
  count: number,
  parts: number,
): Promise<Sample> {
  return await processOf(language, programs).ask(round, count, parts);
}

/** The time from the posting of a datagram until a process that sleeps is awake: the median. */
export async function wakeUp(
  language: Language,
  programs: Programs,
  round: string,
  count: number,
): Promise<Sample> {
  const process = processOf(language, programs);
  await process.tell(round, count, 1);
  await using _sender = send(programs, await process.sample(), WAKE_UP_MICROSECONDS);
  return await process.sample();
}

/** Nanoseconds of processor time for so many messages, one in a millisecond; for a second. */
export async function busy(
  language: Language,
  programs: Programs,
  round: string,
  count: number,
): Promise<Sample> {
  const process = processOf(language, programs);
  await process.tell(round, count, 1);
  const qpNum = await process.sample();
  const before = processorTime(process.pid);
  await using _sender = send(programs, qpNum, BUSY_MICROSECONDS);
  await process.sample();
  const used = processorTime(process.pid) - before;
  return { value: used / (count * BUSY_MICROSECONDS / 1e6) };
}

/** Processor time of a process in nanoseconds: of all threads that it has. */
function processorTime(pid: number): number {
  const folder = `/proc/${pid}/task`;
  let sum = 0;
  for (const { name } of Deno.readDirSync(folder)) {
    sum += Number(Deno.readTextFileSync(`${folder}/${name}/schedstat`).split(" ")[0]);
  }
  return sum;
}

/** Sends datagrams that far apart until it is disposed. */
function send(programs: Programs, { value: qpNum }: Sample, microseconds: number): AsyncDisposable {
  const args = [qpNum, microseconds].map(String);
  const child = new Deno.Command(programs["sender"]!, { args }).spawn();
  return {
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await child.status;
    },
  };
}

const pairs = new Map<string, Promise<ConnectionPair>>();

/** Has two processes run a test between them, perftest's own in C. The value is nanoseconds, as perftest computes them. */
export async function connected(
  language: Language,
  programs: Programs,
  test: Test,
): Promise<Sample> {
  const before = countRetries();
  const value = language === "c"
    ? await runPerftest(test)
    : await runPair(language, programs, test);
  return { value, retries: countRetries() - before };
}

async function runPair(
  language: "deno" | "python",
  programs: Programs,
  test: Test,
): Promise<number> {
  let pair = pairs.get(language);
  if (pair === undefined) {
    pairs.set(language, pair = ConnectionPair.start(commandOf(language, programs, "connection")));
  }
  return await (await pair).run(test);
}

let client: Promise<Contender> | undefined;

/** Has a process run a round with another one that it finds by name. */
export async function byName(programs: Programs, round: string, count: number): Promise<Sample> {
  return await (await (client ??= startByName(programs))).ask(round, count, 1);
}

async function startByName(programs: Programs): Promise<Contender> {
  const [server, client] = ["server", "client"].map((name) =>
    new Contender(name, commandOf("deno", programs, "by_name")).unref()
  ) as [Contender, Contender];
  await server.tell("serve");
  await server.line();
  return client;
}

const COUNTERS = "/sys/class/infiniband/rxe0/ports/1/hw_counters";

/** What rxe0 counts of packets that were sent again, because the receiver was not ready or no answer came. */
function countRetries(): number {
  const names = ["completer_retry_err", "rcvd_rnr_err", "duplicate_request"];
  const counts = names.map((name) => Number(Deno.readTextFileSync(`${COUNTERS}/${name}`)));
  return counts.reduce((a, b) => a + b);
}
