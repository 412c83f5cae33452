/**
 * The program of the soak run that runs in the guest. Its argument is the plan as JSON. It prints samples, one in a line,
 * and at the end the outcome.
 *
 * @module
 */

import process from "node:process";
import { Context, ProtectionDomain } from "../../../mod.ts";
import { openRxe, resourceCounts } from "../../../tests/device/setup.ts";
import { slowLink } from "../../../tests/device/slow_link.ts";
import { forget, STUB } from "../../../tests/device/stub.ts";
import type { Plan } from "../plan.ts";
import type { Counts, Outcome, Sample } from "../record.ts";
import { abortCalls } from "./aborts.ts";
import { changeAddresses } from "./addresses.ts";
import { exchangeConnected } from "./connections.ts";
import { exchangeDatagrams } from "./datagrams.ts";
import { makeHandles } from "./handles.ts";
import { Ledger } from "./ledger.ts";
import { pause } from "./pace.ts";
import { makeQueuePairs } from "./queue_pairs.ts";
import { PORT, type Run } from "./run.ts";
import { sample } from "./sample.ts";
import { makeTables } from "./tables.ts";
import { startWorkers } from "./workers.ts";

/** More failures are not listed. */
const MAX_FAILURES = 20;

const plan = JSON.parse(Deno.args[0]!) as Plan;
const before = resourceCounts();
const ledger = new Ledger();
const counts: Record<string, number> = {
  ahs: 0,
  ahsUsed: 0,
  ahsRefused: 0,
  tables: 0,
  workQueues: 0,
  rssQueuePairs: 0,
  queuePairs: 0,
  addressChanges: 0,
  aborts: 0,
  abortsTooLate: 0,
  workers: 0,
  workersTerminatedOpen: 0,
  workerMessages: 0,
};
const failures: string[] = [];
const start = performance.now();
const processorAtStart = processorSeconds();
await soak().catch(note);
const outcome: Outcome = {
  seconds: elapsed(),
  processorSeconds: processorSeconds() - processorAtStart,
  messages: ledger.counts,
  counts: counts satisfies Counts,
  failures,
  before,
  after: resourceCounts(),
};
console.log(JSON.stringify(outcome));

async function soak(): Promise<void> {
  const controller = new AbortController();
  await using slow = await slowLink();
  using context = openRxe();
  using stub = Context.open(STUB);
  using pd = new ProtectionDomain(context);
  const run: Run = {
    rates: plan.rates,
    stop: controller.signal,
    ledger,
    count: (name, by = 1) => counts[name]! += by,
    fail,
    context,
    pd,
    gids: context.gidTable(PORT),
    arrivals: [],
    fresh: [],
  };
  const activities = [
    makeHandles(run),
    makeTables(run, stub),
    exchangeDatagrams(run),
    exchangeConnected(run),
    makeQueuePairs(run),
    changeAddresses(run),
    abortCalls(run, slow),
    startWorkers(run),
  ];
  const ends = activities.map((activity) => activity.catch(note));
  while (elapsed() < plan.minutes * 60) {
    await pause(plan.interval * 1000);
    // The stub keeps the last calls; the memory that they take is not of interest here.
    forget();
    const { delivered } = ledger.counts;
    const done = { messages: delivered, ahs: counts["ahs"]!, tables: counts["tables"]! };
    console.log(JSON.stringify({ ...sample(elapsed()), done } satisfies Sample));
  }
  controller.abort();
  await Promise.all(ends);
  for (const ah of run.fresh.splice(0)) ah.close();
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
