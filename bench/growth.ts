/** How costs grow with the number of connections: one server, one client that calls it, and others that are idle. */

import { Contender, warmUp, withLibrary } from "./contender.ts";
import { stopwatch } from "./pairs.ts";
import type { Programs } from "./row.ts";
import { digits, duration } from "./table.ts";

/** Connections of a line of a program, which has some seconds for an answer. */
const PART = 500;
const IDLE_MS = 2000;
/** Connections that are busy at the same time, and what each sends at a time. */
const BUSY = 1000;
const LOAD_MS = 1500;
const WINDOW = 8;

const HEAD = ["contender", "idle connections", "call, p50", "connect", "heap", "pinned", "idle"];
const UNITS = ["", "", "", "of each", "of each", "of each", "ms of a second"];

const here = new URL(".", import.meta.url).pathname;

/** Where it is measured. In the guest, where programs start slowly, all numbers have the same processes. */
interface Place {
  readonly inGuest: boolean;
  readonly numbers: readonly number[];
  /** Calls of a round. The fastest of so many rounds counts. */
  readonly calls: number;
  readonly rounds: number;
  /** Milliseconds of calls without gain, before calls are measured. */
  readonly patience: number;
}

const BY_SHARED_MEMORY: Place = {
  inGuest: false,
  numbers: [1, 100, 1000, 10_000],
  calls: 5000,
  rounds: 3,
  patience: 0,
};
const IN_GUEST: Place = {
  inGuest: true,
  numbers: [1, 300],
  calls: 200,
  rounds: 15,
  patience: 3000,
};

/** A package that is measured, and what its programs are started with. */
interface Subject {
  readonly who: string;
  readonly place: Place;
  /** The option of `net` by which ends find each other. */
  readonly way: "tcpPort" | "port";
  readonly programs: Programs;
  readonly map: string;
  readonly prefix: readonly string[];
}

/** The processes of one device: who serves, who calls, and who is idle. */
class Bed implements AsyncDisposable {
  readonly server: Contender;
  readonly caller: Contender;
  readonly idle: Contender;
  /** The port of the server, and how many idle connections there are. */
  port: number | undefined;
  idleCount = 0;
  readonly #file = `/dev/shm/ibverbs-growth-${Deno.pid}`;

  constructor({ programs, map, prefix, place, way }: Subject) {
    const env = place.inGuest
      ? undefined
      : { ...withLibrary(false, programs["shm"]!), IBVERBS_SHM: this.#file };
    const start = (name: string, processor: number): Contender => {
      const pinned = navigator.hardwareConcurrency === 1 ? [] : ["taskset", "-c", `${processor}`];
      const flags = ["-A", "--no-check", "--v8-flags=--expose-gc", `--import-map=${map}`];
      const command = [Deno.execPath(), "run", ...flags, `${here}deno/growth.ts`, way];
      const parent = ["setpriv", "--pdeathsig", "KILL"];
      return new Contender(`growth, ${name}`, [...prefix, ...parent, ...pinned, ...command], env);
    };
    this.server = start("server", 0);
    this.caller = start("caller", 1);
    this.idle = start("idle", 1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      [this.server, this.caller, this.idle].map((one) => one[Symbol.asyncDispose]()),
    );
    await Deno.remove(this.#file).catch(() => {});
  }
}

/** Has a program do some work. It throws what the program says of a failure. */
async function ask(program: Contender, ...words: (string | number)[]): Promise<number[]> {
  await program.tell(...words);
  const line = await program.line();
  if (line.startsWith("!")) throw new Error(line.slice(1).trim());
  return line.split(" ").map(Number);
}

/** Connects so many. Returns the milliseconds of each. */
async function connect(program: Contender, port: number, count: number): Promise<number> {
  let ms = 0;
  for (let left = count; left > 0; left -= PART) {
    const part = Math.min(PART, left);
    ms += (await ask(program, "connect", port, part))[0]! * part;
  }
  return ms / count;
}

/** What one number of idle connections costs. */
interface Costs {
  readonly callNs: number;
  readonly connectNs: number;
  /** Bytes of each connection at the server: of the heap without what is registered, and registered. */
  readonly heap: number;
  readonly pinned: number;
  /** Milliseconds of a processor in a second, of the server and the idle program together, half of it. */
  readonly idleMs: number;
}

async function costsOf(
  bed: Bed,
  count: number,
  { calls, rounds, patience }: Place,
): Promise<Costs> {
  const { server, caller, idle } = bed;
  if (bed.port === undefined) {
    [bed.port] = await ask(server, "serve") as [number];
    await connect(caller, bed.port, 1);
  }
  const added = count - bed.idleCount;
  const [heap, pinned] = await ask(server, "memory") as [number, number];
  const ms = await connect(idle, bed.port, added);
  bed.idleCount = count;
  const [allHeap, allPinned] = await ask(server, "memory") as [number, number];
  const spent = [stopwatch(server), stopwatch(idle)];
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  const idleNs = spent.reduce((sum, stop) => sum + stop(), 0) / 2;
  const call = async (): Promise<number> => (await ask(caller, "call", calls))[0]!;
  await warmUp(async () => ({ value: await call() }), patience);
  let callNs = Infinity;
  for (let i = 0; i < rounds; i++) callNs = Math.min(callNs, await call());
  return {
    callNs,
    connectNs: ms * 1e6,
    heap: (allHeap - heap) / added,
    pinned: (allPinned - pinned) / added,
    idleMs: idleNs / IDLE_MS / 1000,
  };
}

function kib(bytes: number): string {
  return bytes < 2 ** 20 ? `${digits(bytes / 1024)} KiB` : `${digits(bytes / 2 ** 20)} MiB`;
}

function cellsOf({ callNs, connectNs, heap, pinned, idleMs }: Costs): string[] {
  return [duration(callNs), duration(connectNs), kib(heap), kib(pinned), digits(idleMs)];
}

/** Half of the memory of the machine: more would end other programs. */
function mostBytes(): number {
  return Deno.systemMemoryInfo().total / 2;
}

async function linesOf(subject: Subject): Promise<string[][]> {
  const { who, place } = subject;
  const lines: string[][] = [];
  let pinned = 0;
  await using beds = new AsyncDisposableStack();
  const kept = place.inGuest ? beds.use(new Bed(subject)) : undefined;
  for (const count of place.numbers) {
    console.error(`bench: growth, ${who}, ${count} connections`);
    const cells = await reasonOr(2 * pinned * count, async () => {
      await using ended = new AsyncDisposableStack();
      const bed = kept ?? ended.use(new Bed(subject));
      const costs = await costsOf(bed, count, place);
      // What two ends pin of which one has the memory for others is no measure.
      if (count > 1) pinned = costs.pinned;
      return cellsOf(costs);
    });
    lines.push([who, `${count}`, ...cells]);
  }
  return lines;
}

/** What is measured, or why it is not. */
async function reasonOr(bytes: number, measure: () => Promise<string[]>): Promise<string[]> {
  if (bytes > mostBytes()) return [`would pin ${digits(bytes / 2 ** 30)} GiB`];
  try {
    return await measure();
  } catch (error) {
    return [(error as Error).message.slice(0, 100)];
  }
}

/** Answers in a second of one busy client, and of many. */
async function loadOf(subject: Subject): Promise<string> {
  const { who } = subject;
  try {
    await using bed = new Bed(subject);
    const [port] = await ask(bed.server, "serve") as [number];
    await connect(bed.caller, port, 1);
    const one = await steady(bed.caller);
    await connect(bed.idle, port, BUSY);
    const many = await steady(bed.idle);
    const of = (rate: number): string => `${digits(rate / 1000)} k/s`;
    return `${who}: one busy client has ${of(one)} answers, and ${BUSY} of them have ${of(many)}.`;
  } catch (error) {
    return `${who}: ${BUSY} busy clients: ${(error as Error).message}.`;
  }
}

/** The best of some rounds: in the first ones connections become busy, and V8 compiles. */
async function steady(program: Contender): Promise<number> {
  const rates: number[] = [];
  for (let i = 0; i < 4; i++) rates.push((await ask(program, "load", LOAD_MS, WINDOW))[0]!);
  return Math.max(...rates);
}

function align(lines: readonly string[][]): string {
  const widths = HEAD.map((_, i) => Math.max(...lines.map((line) => (line[i] ?? "").length)));
  return lines.map((line) => line.map((cell, i) => cell.padEnd(widths[i]!)).join("  ").trimEnd())
    .join("\n");
}

/** The table, of this package and of an old one if there is one. `prefix` begins the commands of programs. */
export async function growth(programs: Programs, prefix: readonly string[]): Promise<string> {
  const lines = [HEAD, UNITS];
  const loads: string[] = [];
  for (const [who, map] of mapsOf(programs)) {
    const subject = {
      who,
      programs,
      map,
      prefix,
      place: BY_SHARED_MEMORY,
      way: "tcpPort",
    } as const;
    lines.push(...await linesOf(subject));
    loads.push(await loadOf(subject));
  }
  return `${align(lines)}\n\n${loads.join("\n")}`;
}

function mapsOf(programs: Programs): [who: string, map: string][] {
  const { importMap, oldImportMap } = programs;
  const old: [string, string][] = oldImportMap === undefined ? [] : [["Deno, old", oldImportMap]];
  return [["Deno", importMap!], ...old];
}

/** The table of connections on soft-RoCE, which this process is in the guest of. */
async function growthInGuest(programs: Programs): Promise<string> {
  const lines = [HEAD, UNITS];
  for (const [who, map] of mapsOf(programs)) {
    for (const [how, way] of [["TCP", "tcpPort"], ["CM", "port"]] as const) {
      const subject = { who: `${who}, ${how}`, programs, map, prefix: [], place: IN_GUEST, way };
      lines.push(...await linesOf(subject));
    }
  }
  return align(lines);
}

if (import.meta.main) console.log(await growthInGuest(JSON.parse(Deno.args[0]!)));
