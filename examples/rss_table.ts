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
  microsoftRssKey,
  ProtectionDomain,
  QpType,
  QueuePair,
  RwqIndirectionTable,
  RxHash,
  RxHashFields,
  WorkQueue,
  WqState,
} from "@rdma/ibverbs";
import type { RssFlow } from "@rdma/ibverbs/rss";
import {
  flag,
  HELP as HELP_OPTION,
  number,
  readArguments,
  runProgram,
  text,
  UsageError,
  type Values,
} from "./support/command_line.ts";
import { flagNames, section } from "./support/describe.ts";
import { formatFlow, parseFlow } from "./support/flow.ts";

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
  -f, --fields LIST     what to hash (default ipv4,ipv6,tcp,udp); mlx5 devices take one family and
                        one protocol
      --symmetric       hash both directions of a flow alike, as mlx5 devices do
      --predict         use no device
  -h, --help            show this text

Exit status: 0 if all went well, 2 if the command line is wrong, 1 otherwise.
`;

/** The kernel's limit. */
const MAX_ENTRIES = 8192;

const OPTIONS = {
  help: HELP_OPTION,
  predict: flag(),
  symmetric: flag(),
  device: text("d", undefined),
  queues: number("q", 4, 1, MAX_ENTRIES),
  entries: number("e", undefined, 1, MAX_ENTRIES),
  fields: text("f", "ipv4,ipv6,tcp,udp"),
};

interface Choice extends Omit<Values<typeof OPTIONS>, "entries" | "fields"> {
  readonly entries: number;
  readonly rxHash: RxHash;
}

/** The parts of a packet that can be hashed: addresses and ports. */
const FIELDS: Readonly<Record<string, number>> = {
  ipv4: RxHashFields.SRC_IPV4 | RxHashFields.DST_IPV4,
  ipv6: RxHashFields.SRC_IPV6 | RxHashFields.DST_IPV6,
  tcp: RxHashFields.SRC_PORT_TCP | RxHashFields.DST_PORT_TCP,
  udp: RxHashFields.SRC_PORT_UDP | RxHashFields.DST_PORT_UDP,
};

Deno.exitCode = await runProgram("rss_table", async () => {
  const { values, operands } = readArguments(Deno.args, OPTIONS);
  if (values.help) return console.log(HELP);
  const choice = {
    ...values,
    entries: entriesOf(values.entries, values.queues),
    // The key of Microsoft's verification suite, which publishes hashes by it.
    rxHash: new RxHash({ rxHashKey: microsoftRssKey(), rxHashFieldsMask: maskOf(values.fields) }),
  };
  const flows = operands.length > 0 ? operands.map(parseFlow) : await flowsOfInput();
  if (choice.predict) predict(choice, flows);
  else spread(choice, flows);
});

/** The number of entries is a power of two. With another number of queues, some queues have more entries than others. */
function entriesOf(entries: number | undefined, queues: number): number {
  const least = 2 ** Math.ceil(Math.log2(queues));
  if (entries === undefined) return least;
  if (entries >= least && Number.isInteger(Math.log2(entries))) return entries;
  throw new UsageError(`--entries takes a power of two from ${least} on, not ${entries}`);
}

function maskOf(fields: string): number {
  return fields.split(",").reduce((mask, name) => {
    if (!Object.hasOwn(FIELDS, name)) throw new UsageError(`--fields takes ${Object.keys(FIELDS)}`);
    return mask | FIELDS[name]!;
  }, 0);
}

async function flowsOfInput(): Promise<RssFlow[]> {
  if (Deno.stdin.isTerminal()) return [];
  const text = await new Response(Deno.stdin.readable).text();
  return text.split("\n").filter((line) => !/^\s*(#|$)/.test(line)).map(parseFlow);
}

/** Shows what a device would do. */
function predict(choice: Choice, flows: readonly RssFlow[]): void {
  showFlows(choice, flows, (entry) => entry % choice.queues);
}

/** Makes the objects on a device and shows what it does. */
function spread(choice: Choice, flows: readonly RssFlow[]): void {
  using context = openWithRss(choice.device);
  const { maxRwqIndirectionTables, maxRwqIndirectionTableSize, rxHashFieldsMask } =
    context.queryDeviceEx().rssCaps;
  console.log(section(`RSS of ${context.device.name} (struct ibv_rss_caps)`, [
    ["maxRwqIndirectionTables", maxRwqIndirectionTables],
    ["maxRwqIndirectionTableSize", `${maxRwqIndirectionTableSize} entries`],
    ["rxHashFieldsMask", flagNames(RxHashFields, Number(rxHashFieldsMask))],
  ]));
  const table = makeTable(context, choice);
  // Disposing the context disposes all objects in the right order: queue pair, table, work queues.
  const { pd } = table.workQueues[0]!;
  const rxHashConf = choice.rxHash;
  const qp = new QueuePair(pd, { type: QpType.RAW_PACKET, rwqIndTbl: table, rxHashConf });
  console.log(section(
    `indirection table ${table.tableNumber} of RSS queue pair ${qp.qpNum}, ${table.size} entries`,
    table.workQueues.map((wq, entry) => [`entry ${entry}`, `work queue ${wq.wqNum}`]),
  ));
  showFlows(choice, flows, (entry) => table.workQueues[entry]!.wqNum);
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
function makeTable(context: Context, { queues, entries }: Choice): RwqIndirectionTable {
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

/** Shows the hash, table entry and queue of each flow. */
function showFlows(
  { rxHash, symmetric, entries }: Choice,
  flows: readonly RssFlow[],
  queueOf: (entry: number) => number,
): void {
  if (flows.length > 0) console.log("\nhash     entry queue  flow");
  for (const flow of flows) {
    const hash = rxHash.hash(flow, { symmetric });
    // The lower bits of the hash select the entry. table.workQueueFor(flow, rxHash) does both steps.
    const entry = hash & (entries - 1);
    const cells = [String(entry).padStart(5), String(queueOf(entry)).padStart(5), ""];
    console.log([hash.toString(16).padStart(8, "0"), ...cells, formatFlow(flow)].join(" "));
  }
}
