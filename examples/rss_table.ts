/**
 * Receive side scaling (RSS): a queue pair that has no receive queue of its own, but a table of work queues, over which
 * it spreads packets by a hash of their addresses and ports. Shows the table, and where given flows land.
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
  type RssFlow,
  RwqIndirectionTable,
  WorkQueue,
  WqState,
} from "@rdma/ibverbs";
import { run } from "./support/command_line.ts";
import { parseFlow } from "./rss_table/flow.ts";
import { type Options, parseOptions } from "./rss_table/options.ts";
import {
  describeCaps,
  describeHash,
  describeLandings,
  describeSpread,
  describeTable,
  type Landing,
} from "./rss_table/report.ts";

const HELP = `Spreads flows over work queues, and tells which queue each of them lands on.

  deno run --allow-ffi examples/rss_table.ts [OPTIONS] [FLOWS...]
      makes work queues, an indirection table and an RSS queue pair
  deno run examples/rss_table.ts --predict [OPTIONS] [FLOWS...]
      needs neither a device nor libibverbs; queues count from 0

A flow reads "10.0.0.1:1234 > 10.0.0.2:80 tcp" or "[fd00::1]:53 > [fd00::2]:53 udp"; without a
protocol, "10.0.0.1 > 10.0.0.2", no port is hashed. Without arguments flows are read from standard
input, one a line; empty lines and those that begin with # are passed over.

  -d, --device NAME     the RDMA device; the first one that can do RSS unless given
  -q, --queues NUMBER   how many work queues, 4
  -e, --entries NUMBER  size of the table, a power of two; the first one that holds all queues
  -k, --key HEX         the key, 40 bytes; that of Microsoft's verification suite unless given
  -f, --fields LIST     what is hashed, ipv4,ipv6,tcp,udp; single fields are src-ipv4, dst-port-tcp...
      --symmetric       hash as mlx5 devices do, both directions of a flow alike
      --predict         do without a device
  -h, --help            show this text

Exit status: 0 if all went well, 2 for a wrong command line, 1 for anything else.
`;

await run("rss_table", async () => {
  const options = parseOptions(Deno.args);
  if (options.help) return console.log(HELP);
  if (options.predict) await predict(options);
  else await spread(options);
});

/** What a device would do. */
async function predict(options: Options): Promise<void> {
  const { rxHash, symmetric, queues, entries } = options;
  console.log(describeHash(rxHash, symmetric));
  const numbers = Array.from({ length: queues }, (_, i) => i);
  await showFlows(options, numbers, (entry) => entry % queues, entries);
}

/** What a device is told to do. */
async function spread(options: Options): Promise<void> {
  const { rxHash, symmetric, device } = options;
  using context = openWithRss(device);
  console.log(describeCaps(context));
  const table = makeTable(context, options);
  // Disposing the context disposes all of this in the right order: the queue pair, its table, the work queues.
  const { pd } = table.workQueues[0]!;
  const qp = new QueuePair(pd, { type: QpType.RAW_PACKET, rwqIndTbl: table, rxHashConf: rxHash });
  console.log(describeHash(rxHash, symmetric));
  console.log(describeTable(table));
  console.log(`  RSS queue pair ${qp.qpNum}`);
  const numbers = [...new Set(table.workQueues)].map((wq) => wq.wqNum);
  await showFlows(options, numbers, (entry) => table.workQueues[entry]!.wqNum, table.size);
}

function openWithRss(name: string | undefined): Context {
  if (name !== undefined) return Context.open(name);
  for (const { name } of listDevices()) {
    const context = Context.open(name);
    if (context.queryDeviceEx().rssCaps.maxRwqIndirectionTables > 0) return context;
    context.close();
  }
  throw new Error("no device can do RSS; --predict works without one");
}

/** Makes work queues that share a completion queue, and puts them into a table in turn. */
function makeTable(context: Context, { queues, entries }: Options): RwqIndirectionTable {
  const pd = new ProtectionDomain(context);
  const cq = new CompletionQueue(context, { cqe: 256 });
  const made = Array.from(
    { length: queues },
    () => new WorkQueue(pd, { maxWr: 64, maxSge: 1, cq }),
  );
  // Packets for a work queue that is not ready are dropped.
  for (const wq of made) wq.modify({ wqState: WqState.RDY });
  const workQueues = Array.from({ length: entries }, (_, entry) => made[entry % queues]!);
  return new RwqIndirectionTable(context, workQueues);
}

async function showFlows(
  options: Options,
  queues: readonly number[],
  queueOf: (entry: number) => number,
  entries: number,
): Promise<void> {
  const { rxHash, symmetric } = options;
  const landings = (await flowsOf(options)).map((flow): Landing => {
    const hash = rxHash.hash(flow, { symmetric });
    // The lower bits select the entry. table.workQueueFor(flow, rxHash) does both.
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
