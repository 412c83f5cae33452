/** The program of the soak run in the guest. Its arguments are the plan as JSON and the file of its record. */

import process from "node:process";
import { ProtectionDomain } from "../../../mod.ts";
import { openRxe, resourceCounts } from "../../../tests/device/setup.ts";
import { slowLink } from "../../../tests/device/slow_link.ts";
import { alive, forget } from "../../../tests/device/stub.ts";
import { deadline, goals, intervalOf, type Plan, type WorkloadName } from "../plan.ts";
import type { Outcome, Sample } from "../record.ts";
import { abortCalls } from "./aborts.ts";
import { exchangeConnected, makeQueuePairs } from "./connections.ts";
import { exchangeDatagrams } from "./datagrams.ts";
import { changeAddresses, makeHandles } from "./handles.ts";
import { Ledger } from "./ledger.ts";
import { pause, PORT, type Run } from "./run.ts";
import { makeTables } from "./tables.ts";
import { startWorkers } from "./workers.ts";

/** More failures are not listed. */
const MAX_FAILURES = 20;

const plan = JSON.parse(Deno.args[0]!) as Plan;
const before = resourceCounts();
const ledger = new Ledger();
const counts: Record<string, number> = {};
const failures: string[] = [];
const samples: Sample[] = [];
const start = performance.now();
const processorAtStart = processorSeconds();
await soak().catch(note);
const outcome: Outcome = {
  seconds: elapsed(),
  processorSeconds: processorSeconds() - processorAtStart,
  messages: ledger.counts,
  counts,
  failures,
  before,
  after: resourceCounts(),
};
Deno.writeTextFileSync(Deno.args[1]!, record());

async function soak(): Promise<void> {
  const controller = new AbortController();
  await using slow = await slowLink();
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  const run: Run = {
    stop: controller.signal,
    ledger,
    count: (name, by = 1) => counts[name] = (counts[name] ?? 0) + by,
    fail,
    context,
    pd,
    gids: context.gidTable(PORT),
    arrivals: [],
    fresh: [],
  };
  const workloads: Record<WorkloadName, (rate: number) => Promise<void>> = {
    handles: (rate) => makeHandles(run, rate),
    tables: (rate) => makeTables(run, rate),
    datagrams: (rate) => exchangeDatagrams(run, rate),
    connections: (rate) => exchangeConnected(run, rate),
    queuePairs: (rate) => makeQueuePairs(run, rate),
    addresses: (rate) => changeAddresses(run, rate),
    aborts: (rate) => abortCalls(run, rate, slow),
    workers: (rate) => startWorkers(run, rate),
  };
  const names = Object.keys(workloads) as WorkloadName[];
  const chosen = names.filter((name) => !plan.without.includes(name));
  const ends = chosen.map((name) => workloads[name](plan.rates[name]).catch(note));
  while (elapsed() < plan.seconds || isBehind(chosen) && elapsed() < deadline(plan.seconds)) {
    await pause(1000 * intervalOf(plan.seconds));
    // The stub keeps the last calls; the memory that they take is not of interest here.
    forget();
    samples.push(sample());
  }
  controller.abort();
  await Promise.all(ends);
  for (const ah of run.fresh.splice(0)) ah.close();
}

/** A slow machine goes on until it has done all that its workloads are to do. */
function isBehind(chosen: readonly WorkloadName[]): boolean {
  return failures.length === 0 &&
    Object.entries(goals(plan, chosen)).some(([name, goal]) => (counts[name] ?? 0) < goal);
}

/** The record as JSON, each sample in a line. */
function record(): string {
  const head = JSON.stringify({ plan, outcome }, undefined, 2).replace(/\n}$/, "");
  const lines = samples.map((sample) => `    ${JSON.stringify(sample)}`);
  return `${head},\n  "samples": [\n${lines.join(",\n")}\n  ]\n}\n`;
}

function fail(what: string): void {
  if (failures.length < MAX_FAILURES) failures.push(what);
}

function note(error: unknown): void {
  fail(error instanceof Error ? error.stack ?? error.message : String(error));
}

function elapsed(): number {
  return (performance.now() - start) / 1000;
}

function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Takes a sample. The garbage is collected first. */
function sample(): Sample {
  (globalThis as unknown as { gc: () => void }).gc();
  const { rss, heapUsed, external } = Deno.memoryUsage();
  const memory = Deno.readTextFileSync("/proc/meminfo");
  const [, kilobytes] = /^SUnreclaim: +(\d+) kB$/m.exec(memory)!;
  return {
    seconds: Math.round(elapsed() * 10) / 10,
    resident: rss,
    heap: heapUsed + external,
    kernelObjects: sumOf(Object.values(resourceCounts()).flatMap(Object.values)),
    stubObjects: sumOf(Object.values(alive())),
    kernelMemory: 1024 * Number(kilobytes),
    descriptors: [...Deno.readDirSync("/proc/self/fd")].length,
    threads: [...Deno.readDirSync("/proc/self/task")].length,
  };
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
