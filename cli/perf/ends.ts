/** The two ends of a measurement, and their conversation by TCP. */

import { type Context, QpType } from "@rdma/ibverbs";
import { CommandError, messageOf } from "../shell/command.ts";
import type { Address } from "../peer/address.ts";
import { addressIn, addressText, Channel, numberOf, shownOf, textOf } from "../peer/channel.ts";
import { Endpoint, type Far } from "../peer/endpoint.ts";
import { MAX_SECONDS, type Options } from "../peer/options.ts";
import { acceptPeer, connectTo } from "../peer/tcp.ts";
import { latencyOf } from "./histogram.ts";
import { type Goal, Meter } from "./measure.ts";
import type { Report } from "../shell/ports.ts";
import type { Progress } from "./progress.ts";
import { bandwidthOf, type Counted, type Result } from "./report.ts";
import { MOST, type Settings, settingsOf } from "./settings.ts";

const VERSION = 2;

/** Receives that are posted, of all queue pairs together and of each one, and sends that are in progress at once. */
const RX_DEPTH = 512;
const LEAST_RX_DEPTH = 16;
const TX_DEPTH = 64;

/** The most sizes of one conversation. */
const MOST_SIZES = 64;

const TYPES = { ud: QpType.UD, rc: QpType.RC, uc: QpType.UC } as const;

type Message = Readonly<Record<string, unknown>>;

/** What both ends have. */
export interface Bench {
  readonly context: Context;
  readonly options: Options;
  readonly progress: Progress;
  /** Gets the reason why another connection is not served. */
  readonly report: Report;
}

/** Waits for one client, and measures what it asks for. */
export async function serve(bench: Bench): Promise<Result[]> {
  const { port, timeout } = bench.options;
  const greet = async (connection: Deno.TcpConn): Promise<readonly [Channel, Message]> => {
    const channel = new Channel(connection, "perf", timeout);
    return [channel, await channel.greeting(VERSION)];
  };
  const [connection, [channel, first]] = await acceptPeer(port, greet, bench.report);
  using _closed = connection;
  const results: Result[] = [];
  for (let hello = first;; hello = await channel.greeting(VERSION)) {
    results.push(await serveOne(bench, channel, hello));
    if (numberOf(hello, "left", [0, MOST_SIZES]) === 0) return results;
  }
}

async function serveOne(bench: Bench, channel: Channel, hello: Message): Promise<Result> {
  const [settings, made] = await orReport(channel, () => {
    const settings = settingsOf(hello);
    return [settings, endpointFor(bench, settings)] as const;
  });
  using endpoint = made;
  endpoint.connect(...peerIn(hello, settings));
  await channel.send(nameOf(endpoint));
  const meter = meterFor(bench, endpoint, settings);
  // It may take any time, as long as messages come.
  const asked = channel.receive(MAX_SECONDS);
  const latencies = settings.verb === "read" ? undefined : await meter.answer(
    asked.then((message) => numberOf(message, "asked", [2, 2 * MOST])),
  );
  // At least one latency is left.
  const warmUp = numberOf(await asked, "warmUp", [0, latencies ? latencies.length - 1 : MOST]);
  await channel.send({ ready: true });
  const heard = channel.receive(MAX_SECONDS).then(countedIn);
  const counted = settings.verb === "send"
    ? await meter.receive(heard.then(({ sent }) => sent))
    : await heard;
  await channel.send(counted);
  return resultOf("server", settings, latencies?.slice(warmUp), counted);
}

/** Measures with a server, one size after the other. */
export async function measure(bench: Bench, all: readonly Settings[]): Promise<Result[]> {
  const { host, port, timeout } = bench.options;
  using connection = await connectTo(host!, port, AbortSignal.timeout(timeout * 1000));
  const channel = new Channel(connection, "perf", timeout);
  const results: Result[] = [];
  for (const [i, settings] of all.entries()) {
    results.push(await measureOne(bench, channel, settings, all.length - 1 - i));
  }
  return results;
}

async function measureOne(
  bench: Bench,
  channel: Channel,
  settings: Settings,
  left: number,
): Promise<Result> {
  using endpoint = endpointFor(bench, settings);
  await channel.send({ perf: VERSION, ...settings, left, ...nameOf(endpoint) });
  endpoint.connect(...peerIn(await channel.receive(), settings));
  const meter = meterFor(bench, endpoint, settings);
  const { latencies, ...counts } = await meter.ask(goalOf(settings, settings.iters));
  await channel.send(counts);
  await channel.receive();
  const counted = await meter.send(goalOf(settings, settings.messages), TX_DEPTH);
  await channel.send(counted);
  const answer = countedIn(await channel.receive());
  return resultOf("client", settings, latencies, answer);
}

/** Runs a function. If that fails, the client gets the reason. */
async function orReport<T>(channel: Channel, make: () => T): Promise<T> {
  try {
    return make();
  } catch (error) {
    await channel.send({ error: messageOf(error) });
    throw error;
  }
}

function rxDepthOf({ qp }: Settings): number {
  return Math.max(LEAST_RX_DEPTH, Math.floor(RX_DEPTH / qp));
}

function endpointFor({ context, options }: Bench, settings: Settings): Endpoint {
  const { kind, verb, qp, size, mtu } = settings;
  const all = { ...options, size, mtu, rxDepth: rxDepthOf(settings), txDepth: TX_DEPTH };
  return new Endpoint(context, all, { qpType: TYPES[kind], verb, queuePairs: qp });
}

function meterFor({ options, progress }: Bench, endpoint: Endpoint, settings: Settings): Meter {
  const show = (phase: string, count: number): void => progress.show(settings, phase, count);
  return new Meter(endpoint, { rxDepth: rxDepthOf(settings), timeout: options.timeout, show });
}

/** When a phase ends: after a number of messages, or after the given time. */
export function goalOf({ duration }: Pick<Settings, "duration">, messages: number): Goal {
  return duration === 0 ? { messages, ms: Infinity } : { messages: MOST, ms: duration * 1000 };
}

/** What the peer needs to know of an endpoint. */
function nameOf({ addresses, remote, reads }: Endpoint): Message {
  return { addresses: addresses.map(addressText), addr: remote.addr, rkey: remote.rkey, reads };
}

/** What this side needs to know of the peer. */
function peerIn(message: Message, { qp }: Settings): [there: Address[], far: Far] {
  const addresses: Message = Object(message.addresses);
  const addr = textOf(message, "addr");
  if (!/^0x[\da-f]{1,16}$/.test(addr)) throw new CommandError("the peer sent no address of memory");
  const far = {
    remoteAddr: BigInt(addr),
    rkey: numberOf(message, "rkey", [0, 0xffff_ffff]),
    reads: numberOf(message, "reads", [1, 255]),
  };
  return [Array.from({ length: qp }, (_, i) => addressIn({ address: addresses[i] })), far];
}

function countedIn(message: Message): Counted {
  const sent = numberOf(message, "sent", [0, MOST]);
  const received = numberOf(message, "received", [0, sent]);
  const { microseconds } = message;
  if (typeof microseconds !== "number" || !(microseconds >= 0)) {
    throw new CommandError(`the peer sent ${shownOf(microseconds)} for microseconds`);
  }
  return { sent, received, microseconds };
}

function resultOf(
  role: Result["role"],
  { kind, verb, size, qp }: Settings,
  latencies: Float64Array | undefined,
  counted: Counted,
): Result {
  return {
    ...{ role, kind, verb, size, queuePairs: qp },
    ...latencies && { latency: latencyOf(latencies) },
    bandwidth: bandwidthOf(counted, size),
  };
}
