/** What `deno task long connections` runs in the guest: how many connections, and how many requests. */

import { CmError, type CmEvent, CmEventType } from "../../cm.ts";
import { QpState, QpType } from "../../mod.ts";
import { resourceCounts } from "../../tests/device/setup.ts";
import { CmBed } from "../../tests/device/cm/bed.ts";
import { leftovers, type Sample } from "./verdict.ts";

const ACCEPTED = 100;
const AT_ONCE = 16;
/** How often the memory of the process is shown. */
const STRIDE = 1000;
/** Until then code is compiled. */
const WARM_UP = 0.2;

const [connections, requests] = Deno.args.map(Number) as [number, number];

function sample(): Sample {
  (globalThis as unknown as { gc: () => void }).gc();
  const { heapUsed, external } = Deno.memoryUsage();
  return {
    descriptors: [...Deno.readDirSync("/proc/self/fd")].length,
    objects: JSON.stringify(resourceCounts()),
    heap: heapUsed + external,
  };
}

/** Does a step so many times, and returns what has changed since the warm-up. */
async function measured(
  name: string,
  count: number,
  atOnce: number,
  step: (number: number) => Promise<void>,
): Promise<string[]> {
  const warm = Math.ceil(count * WARM_UP);
  await several(0, warm, atOnce, step);
  const before = sample();
  const start = performance.now();
  const resident: string[] = [];
  for (let done = warm; done < count;) {
    const next = Math.min(count, done - done % STRIDE + STRIDE);
    await several(done, next, atOnce, step);
    done = next;
    resident.push(`${(Deno.memoryUsage().rss / 1e6).toFixed(0)} after ${done}`);
  }
  const milliseconds = (performance.now() - start) / (count - warm);
  const after = sample();
  console.log(`${count} ${name}, ${milliseconds.toFixed(1)} ms each`);
  for (const series of ["descriptors", "heap"] as const) {
    console.log(`  ${series}: ${before[series]}, then ${after[series]}`);
  }
  console.log(`  megabytes of the process: ${resident.join(", ")}`);
  console.log(`  kernel objects: ${after.objects}`);
  return leftovers(before, after).map((fault) => `${name}: ${fault}`);
}

/** Does the steps from a number to another one, so many at a time. */
async function several(
  from: number,
  to: number,
  atOnce: number,
  step: (number: number) => Promise<void>,
): Promise<void> {
  let next = from;
  const workers = Array.from({ length: atOnce }, async () => {
    while (next < to) await step(next++);
  });
  await Promise.all(workers);
}

async function connectOften(): Promise<string[]> {
  using bed = new CmBed();
  const listener = bed.listener();
  return await measured("connections", connections, 1, async () => {
    const { client, server } = await bed.connected(listener);
    const ends = [client, server];
    const ended = server.disconnected();
    if (!await client.disconnect({ timeout: 10_000 })) throw new Error("the server is silent");
    await ended;
    for (const id of ends) {
      if (id.qp!.state !== QpState.ERR) throw new Error("a queue pair goes on");
      id.qp!.close();
      id.close();
    }
  });
}

async function requestOften(): Promise<string[]> {
  using bed = new CmBed();
  const listener = bed.listener();
  const counts = { accepted: 0, refused: 0 };
  const every = requests / ACCEPTED;
  let seen = 0;
  const answer = async ({ type, id }: CmEvent): Promise<void> => {
    if (type !== CmEventType.CONNECT_REQUEST) return;
    if (seen++ % every >= 1) {
      id.reject();
      return id.close();
    }
    using qp = bed.newQp(QpType.RC);
    await id.accept(qp);
    await id.disconnected();
    id.close();
  };
  const serving = new AbortController();
  const { signal } = serving;
  const served: Promise<void>[] = [];
  const server = (async () => {
    for await (const event of bed.channel.events({ signal })) served.push(answer(event));
  })();
  const faults = await measured("requests", requests, AT_ONCE, async () => {
    using client = await bed.routed(listener);
    using qp = bed.newQp(QpType.RC);
    try {
      await client.connect(qp);
      client.establish();
      await client.disconnect();
      counts.accepted++;
    } catch (error) {
      if (!(error instanceof CmError && error.event === CmEventType.REJECTED)) throw error;
      counts.refused++;
    }
  });
  serving.abort();
  await server.catch(() => {});
  await Promise.all(served);
  console.log(`  accepted ${counts.accepted}, refused ${counts.refused}`);
  const isRight = counts.accepted === ACCEPTED && counts.refused === requests - ACCEPTED;
  return isRight ? faults : [...faults, "requests: the server accepted others"];
}

const before = JSON.stringify(resourceCounts());
const faults = [...await connectOften(), ...await requestOften()];
const after = JSON.stringify(resourceCounts());
if (before !== after) faults.push(`left of ${before}: ${after}`);
for (const fault of faults) console.log(`fault: ${fault}`);
console.log(`\n${connections} connections, ${requests} requests, ${faults.length} faults`);
Deno.exit(faults.length === 0 ? 0 : 1);
