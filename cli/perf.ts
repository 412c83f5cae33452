import { Context, LinkLayer, listDevices, QpType } from "../mod.ts";
import {
  choice,
  type Command,
  command,
  CommandError,
  messageOf,
  number,
  text,
  UsageError,
} from "./shell/command.ts";
import { latencyOf } from "./perf/histogram.ts";
import { Meter } from "./perf/measure.ts";
import { bandwidthOf, type Counted, type Result, resultLines } from "./perf/report.ts";
import { svgOf } from "./perf/svg.ts";
import { addressIn, addressText, Channel, numberOf } from "./peer/channel.ts";
import { Endpoint } from "./peer/endpoint.ts";
import { MAX_SECONDS, mtuOption, type Options, optionsFor, readOptions } from "./peer/options.ts";
import { acceptOne, connectTo } from "./peer/tcp.ts";

const CHOICE = { numbers: ["port", "ib-port", "timeout"] } as const;

/** Receives that are posted, and sends that are under way, at once. */
const RX_DEPTH = 512;
const TX_DEPTH = 64;

const MOST = 10_000_000;
const MOST_BYTES = 1 << 24;
const VERSION = 1;

const TYPES = { ud: QpType.UD, rc: QpType.RC, uc: QpType.UC } as const;

/** What the client chooses, by default. */
const DEFAULTS = { kind: "rc", size: 64, iters: 5000, messages: 10_000, mtu: 1024 } as const;

/** The numbers that it may choose. */
const RANGES = {
  size: [1, MOST_BYTES],
  iters: [10, MOST],
  messages: [10, MOST],
  mtu: [256, 4096],
} as const;

function ofClient(name: keyof typeof RANGES, text: string): string {
  return `client: ${text} (default ${DEFAULTS[name]})`;
}

/** The settings that both ends share. */
interface Settings {
  readonly kind: "ud" | "rc" | "uc";
  readonly size: number;
  readonly iters: number;
  readonly messages: number;
  readonly mtu: number;
}

export const perf: Command = command({
  name: "perf",
  summary: "Measures the latency of messages, as a histogram, and the bandwidth, as text and SVG.",
  details: `
Without HOST it is a server and waits for a client; with HOST it connects to the server there. The
client chooses what is measured, and both ends show it. The latency is half of the time from a
message to its answer. The bandwidth is what the server receives.
It needs --allow-net for the exchange of addresses, and --allow-write for --svg.`,
  operands: "[HOST]",
  options: {
    ...optionsFor(CHOICE),
    kind: choice(["rc", "uc", "ud"], `client: kind of queue pair (default ${DEFAULTS.kind})`),
    size: number("BYTES", ofClient("size", "size of a message"), RANGES.size, "s"),
    iters: number("NUMBER", ofClient("iters", "messages back and forth"), RANGES.iters, "n"),
    messages: number("NUMBER", ofClient("messages", "messages one way"), RANGES.messages),
    mtu: mtuOption(ofClient("mtu", "path MTU of a connection")),
    svg: text("FILE", "draw the histogram"),
  },
  async run(values, terminal, operands): Promise<number> {
    const options = readOptions(CHOICE, values, operands);
    const { svg, json } = values;
    const given = Object.keys(DEFAULTS).find((name) => name in values);
    if (given !== undefined && options.host === undefined) {
      throw new UsageError(`--${given} is for the client, and this is a server: there is no HOST`);
    }
    using context = Context.open(options.ibDev ?? listDevices()[0]?.name);
    const all = { ...options, gidIdx: options.gidIdx ?? recommendedGid(context, options) };
    const result = options.host === undefined
      ? await serve(context, all)
      : await measure(context, all, settingsOf({ ...DEFAULTS, ...values }));
    if (svg !== undefined) await Deno.writeTextFile(svg, svgOf(result));
    if (json) terminal.printJson(result);
    else {
      const { kind, size, role } = result;
      terminal.print([`${kind.toUpperCase()}, messages of ${size} bytes, ${role}`]);
      terminal.print(resultLines(result));
    }
    return 0;
  },
});

/** Waits for a client, and measures what it asks for. */
async function serve(context: Context, options: Options): Promise<Result> {
  const { port, timeout } = options;
  using connection = await acceptOne(port);
  const channel = new Channel(connection, "perf", timeout);
  const hello = await channel.receive();
  const [settings, made] = await orTell(channel, () => {
    numberOf(hello, "perf", [VERSION, VERSION]);
    const settings = settingsOf(hello);
    return [settings, makeEndpoint(context, options, settings)] as const;
  });
  using endpoint = made;
  endpoint.connect([addressIn(hello)]);
  await channel.send({ address: addressText(endpoint.addresses[0]!) });
  const meter = new Meter(endpoint, RX_DEPTH, timeout);
  const latencies = await meter.pingPong(settings.iters, false);
  await channel.send({ ready: true });
  // However long it takes, as long as messages come.
  const done = channel.receive(MAX_SECONDS);
  const sent = done.then((message) => numberOf(message, "sent", [0, MOST]));
  const counted = await meter.receive(settings.messages, sent);
  await channel.send(counted);
  return resultOf("server", settings, latencies, { sent: await sent, ...counted });
}

/** Measures with a server. */
async function measure(context: Context, options: Options, settings: Settings): Promise<Result> {
  const { host, port, timeout } = options;
  using endpoint = makeEndpoint(context, options, settings);
  using connection = await connectTo(host!, port, AbortSignal.timeout(timeout * 1000));
  const channel = new Channel(connection, "perf", timeout);
  await channel.send({ perf: VERSION, ...settings, address: addressText(endpoint.addresses[0]!) });
  endpoint.connect([addressIn(await channel.receive())]);
  const meter = new Meter(endpoint, RX_DEPTH, timeout);
  const latencies = await meter.pingPong(settings.iters, true);
  await channel.receive();
  await meter.send(settings.messages, TX_DEPTH);
  const sent = settings.messages;
  await channel.send({ sent });
  const answer = await channel.receive();
  const received = numberOf(answer, "received", [0, sent]);
  const microseconds = Number(answer.microseconds);
  return resultOf("client", settings, latencies, { sent, received, microseconds });
}

/** Makes something. If that fails, the client is told why. */
async function orTell<T>(channel: Channel, make: () => T): Promise<T> {
  try {
    return make();
  } catch (error) {
    await channel.send({ error: messageOf(error) });
    throw error;
  }
}

function makeEndpoint(context: Context, options: Options, settings: Settings): Endpoint {
  const { kind, size, mtu } = settings;
  const all = { ...options, size, mtu, rxDepth: RX_DEPTH, txDepth: TX_DEPTH };
  return new Endpoint(context, all, { type: TYPES[kind] });
}

function recommendedGid(context: Context, { ibPort }: Options): number | undefined {
  const { linkLayer } = context.queryPort(ibPort);
  return linkLayer === LinkLayer.ETHERNET ? context.recommendGid(ibPort).gidIndex : undefined;
}

/** What a client chose. */
function settingsOf(chosen: Readonly<Record<string, unknown>>): Settings {
  const kind = (["ud", "rc", "uc"] as const).find((kind) => kind === chosen.kind);
  if (kind === undefined) throw new CommandError("the peer asks for an unknown kind");
  const read = (name: keyof typeof RANGES): number => numberOf(chosen, name, RANGES[name]);
  return {
    kind,
    size: read("size"),
    iters: read("iters"),
    messages: read("messages"),
    mtu: read("mtu"),
  };
}

function resultOf(
  role: Result["role"],
  { kind, size }: Settings,
  latencies: Float64Array,
  counted: Counted,
): Result {
  const latency = latencyOf(latencies);
  return { role, kind, size, latency, bandwidth: bandwidthOf(counted, size) };
}
