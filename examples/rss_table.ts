/**
 * Receive side scaling (RSS). A queue pair without a receive queue of its own distributes packets over the work queues of
 * an indirection table, by a hash of their addresses and ports. The example shows the table and the work queue of each
 * given flow.
 *
 * @module
 */

import {
  CompletionQueue,
  Context,
  listDevices,
  ProtectionDomain,
  QpType,
  QueuePair,
  RwqIndirectionTable,
  WorkQueue,
  WqState,
} from "@rdma/ibverbs";
import type { RssFlow } from "@rdma/ibverbs/rss";
import { program } from "./support/program.ts";
import { parseFlow } from "./rss_table/flow.ts";
import { checkOptions, OPTIONS, type Options } from "./rss_table/options.ts";
import {
  describeCaps,
  describeHash,
  describeLandings,
  describeSpread,
  describeTable,
  type Landing,
} from "./rss_table/report.ts";

const HELP = `Distributes flows over work queues and shows the queue of each flow.

  deno run --allow-ffi examples/rss_table.ts [OPTIONS] [FLOWS...]
      makes work queues, an indirection table and an RSS queue pair
  deno run examples/rss_table.ts --predict [OPTIONS] [FLOWS...]
      needs neither a device nor libibverbs; queues are numbered from 0

A flow is "10.0.0.1:1234 > 10.0.0.2:80 tcp" or "[fd00::1]:53 > [fd00::2]:53 udp". Without a
protocol, "10.0.0.1 > 10.0.0.2", no port is hashed. Without FLOWS, flows are read from standard
input, one a line. Empty lines and lines that begin with # are ignored.

  -d, --device NAME     RDMA device (default: the first one with RSS)
  -q, --queues NUMBER   number of work queues (default 4)
  -e, --entries NUMBER  size of the table, a power of two (default: the smallest for all queues)
  -k, --key HEX         key, 40 bytes (default: the key of Microsoft's verification suite)
  -f, --fields LIST     parts of a packet to hash (default ipv4,ipv6,tcp,udp); single ones are
                        src-ipv4, dst-port-tcp...
      --symmetric       hash both directions of a flow alike, as mlx5 devices do
      --predict         use no device
  -h, --help            show this text

Exit status: 0 if all went well, 2 if the command line is wrong, 1 otherwise.
`;

const CONFIG = { options: OPTIONS, allowPositionals: true } as const;

/** Distributes flows. */
export const main = program("rss_table", HELP, CONFIG, async (parsed) => {
  const options = checkOptions(parsed);
  if (options.predict) await predict(options);
  else await spread(options);
});

/** Shows what a device would do. */
async function predict(options: Options): Promise<void> {
  const { rxHash, symmetric, queues } = options;
  console.log(describeHash(rxHash, symmetric));
  const numbers = Array.from({ length: queues }, (_, i) => i);
  await showFlows(options, numbers, (entry) => entry % queues);
}

/** Makes the objects on a device and shows what it does. */
async function spread(options: Options): Promise<void> {
  const { rxHash, symmetric, device } = options;
  using context = openWithRss(device);
  console.log(describeCaps(context));
  const table = makeTable(context, options);
  // Disposing the context disposes all objects in the right order: queue pair, table, work queues.
  const { pd } = table.workQueues[0]!;
  const qp = new QueuePair(pd, { qpType: QpType.RAW_PACKET, rwqIndTbl: table, rxHashConf: rxHash });
  console.log(describeHash(rxHash, symmetric));
  console.log(describeTable(table));
  console.log(`  RSS queue pair ${qp.qpNum}`);
  const numbers = [...new Set(table.workQueues)].map((wq) => wq.wqNum);
  await showFlows(options, numbers, (entry) => table.workQueues[entry]!.wqNum);
}

function openWithRss(name: string | undefined): Context {
  if (name !== undefined) return Context.open(name);
  for (const { name } of listDevices()) {
    const context = Context.open(name);
    if (context.queryDeviceEx().rssCaps.maxRwqIndirectionTables > 0) return context;
    context.close();
  }
  throw new Error("No device has RSS. --predict works without one");
}

/** Makes work queues that share a completion queue, and a table with each of them in turn. */
function makeTable(context: Context, { queues, entries }: Options): RwqIndirectionTable {
  const pd = new ProtectionDomain(context);
  const cq = new CompletionQueue(context, { cqe: 256 });
  const made = Array.from(
    { length: queues },
    () => new WorkQueue(pd, { maxWr: 64, maxSge: 1, cq }),
  );
  // A work queue that is not ready drops its packets.
  for (const wq of made) wq.modify({ wqState: WqState.RDY });
  const workQueues = Array.from({ length: entries }, (_, entry) => made[entry % queues]!);
  return new RwqIndirectionTable(context, workQueues);
}

async function showFlows(
  options: Options,
  queues: readonly number[],
  queueOf: (entry: number) => number,
): Promise<void> {
  const { rxHash, symmetric, entries } = options;
  const landings = (await flowsOf(options)).map((flow): Landing => {
    const hash = rxHash.hash(flow, { symmetric });
    // The lower bits of the hash select the entry. table.workQueueFor(flow, rxHash) does both steps.
    const entry = hash & (entries - 1);
    return { flow, hash, entry, queue: queueOf(entry) };
  });
  if (landings.length === 0) return;
  console.log(`\n${describeLandings(landings)}\n\n${describeSpread(landings, queues)}`);
}

async function flowsOf({ flows }: Options): Promise<readonly RssFlow[]> {
  if (flows.length > 0 || Deno.stdin.isTerminal()) return flows;
  const text = await new Response(Deno.stdin.readable).text();
  return text.split("\n").filter((line) => !/^\s*(#|$)/.test(line)).map(parseFlow);
}

if (import.meta.main) Deno.exitCode = await main(Deno.args);
