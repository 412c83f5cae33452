import { Context, LinkLayer, listDevices, QpType } from "../mod.ts";
import {
  choice,
  type Command,
  command,
  CommandError,
  messageOf,
  number,
  type Option,
  text,
  UsageError,
} from "./shell/command.ts";
import { Channel, numberOf } from "./perf/channel.ts";
import { latencyOf } from "./perf/histogram.ts";
import { Meter, type Settings } from "./perf/measure.ts";
import { bandwidthOf, type Result, resultLines } from "./perf/report.ts";
import { svgOf } from "./perf/svg.ts";
import { type Address, decodeAddress, encodeAddress } from "./peer/address.ts";
import { checkMtu, Endpoint } from "./peer/endpoint.ts";
import { MAX_SECONDS, type Options, optionsFor, readOptions } from "./peer/options.ts";
import { acceptOne, connectTo } from "./peer/tcp.ts";

const CHOICE = { numbers: ["port", "ib-port", "timeout"] } as const;

/** Receives that are posted, and sends that are under way, at once. */
const RX_DEPTH = 512;
const TX_DEPTH = 64;

/** Messages back and forth before the measurement, in which V8 compiles the code. */
const WARM_UP = 2000;

const MOST = 10_000_000;
const MOST_BYTES = 1 << 24;
const VERSION = 1;

const TYPES = { ud: QpType.UD, rc: QpType.RC, uc: QpType.UC } as const;

const DEFAULTS = { kind: "rc", size: 64, iters: 5000, messages: 10_000, mtu: 1024 } as const;

function ofClient(
  value: string,
  text: string,
  name: Exclude<keyof typeof DEFAULTS, "kind">,
  range: readonly [min: number, max: number],
  short?: string,
): Option<number> {
  return number(value, `client: ${text} (default ${DEFAULTS[name]})`, range, short);
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
    size: ofClient("BYTES", "size of a message", "size", [1, MOST_BYTES], "s"),
    iters: ofClient("NUMBER", "messages back and forth", "iters", [10, MOST], "n"),
    messages: ofClient("NUMBER", "messages one way", "messages", [10, MOST]),
    mtu: ofClient("BYTES", "path MTU of a connection", "mtu", [256, 4096], "m"),
    svg: text("FILE", "draw the histogram"),
  },
  async run(values, terminal, operands): Promise<number> {
    const options = readOptions(CHOICE, values, operands);
    const { kind, size, iters, messages, mtu, svg, json } = values;
    const given = { kind, size, iters, messages, mtu };
    for (const [name, value] of Object.entries(given)) {
      if (value === undefined || options.host !== undefined) continue;
      throw new UsageError(`--${name} is for the client, and this is a server: there is no HOST`);
    }
    const settings = { ...DEFAULTS, ...defined(given) };
    checkMtu({ ...options, mtu: settings.mtu });
    using context = Context.open(options.ibDev ?? listDevices()[0]?.name);
    const gidIdx = options.gidIdx ?? recommendedGid(context, options);
    const result = options.host === undefined
      ? await serve(context, { ...options, gidIdx })
      : await measure(context, { ...options, gidIdx }, options.host, settings);
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

function defined<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/** Waits for a client, and measures what it asks for. */
async function serve(context: Context, options: Options): Promise<Result> {
  const { port, timeout } = options;
  using connection = await acceptOne(port);
  const channel = new Channel(connection, timeout);
  const hello = await channel.receive();
  const [settings, made] = await orTell(channel, () => {
    const settings = settingsOf(hello);
    return [settings, makeEndpoint(context, options, settings)] as const;
  });
  using endpoint = made;
  endpoint.connect([addressOf(hello)]);
  await channel.send({ address: textOf(endpoint.addresses[0]!) });
  const meter = new Meter(endpoint, RX_DEPTH, timeout);
  await meter.pingPong(Math.min(WARM_UP, settings.iters), false);
  const latencies = await meter.pingPong(settings.iters, false);
  await channel.send({ ready: true });
  // However long it takes, as long as messages come.
  const done = channel.receive(MAX_SECONDS);
  const sent = done.then((message) => numberOf(message, "sent", 0, MOST));
  const counted = await meter.receive(settings.messages, sent);
  await channel.send(counted);
  return resultOf("server", settings, latencies, { sent: await sent, ...counted });
}

/** Measures with a server. */
async function measure(
  context: Context,
  options: Options,
  host: string,
  settings: Settings,
): Promise<Result> {
  const { port, timeout } = options;
  using endpoint = makeEndpoint(context, options, settings);
  using connection = await connectTo(host, port, AbortSignal.timeout(timeout * 1000));
  const channel = new Channel(connection, timeout);
  await channel.send({ perf: VERSION, ...settings, address: textOf(endpoint.addresses[0]!) });
  endpoint.connect([addressOf(await channel.receive())]);
  const meter = new Meter(endpoint, RX_DEPTH, timeout);
  await meter.pingPong(Math.min(WARM_UP, settings.iters), true);
  const latencies = await meter.pingPong(settings.iters, true);
  await channel.receive();
  await meter.send(settings.messages, TX_DEPTH);
  const sent = settings.messages;
  await channel.send({ sent });
  const answer = await channel.receive();
  const received = numberOf(answer, "received", 0, sent);
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

function settingsOf(hello: Readonly<Record<string, unknown>>): Settings {
  numberOf(hello, "perf", VERSION, VERSION);
  const kinds = ["ud", "rc", "uc"] as const;
  const kind = kinds.find((kind) => kind === hello.kind);
  if (kind === undefined) throw new CommandError("the peer asks for an unknown kind");
  return {
    kind,
    size: numberOf(hello, "size", 1, MOST_BYTES),
    iters: numberOf(hello, "iters", 10, MOST),
    messages: numberOf(hello, "messages", 10, MOST),
    mtu: numberOf(hello, "mtu", 256, 4096),
  };
}

function textOf(address: Address): string {
  return new TextDecoder().decode(encodeAddress(address));
}

function addressOf({ address }: Readonly<Record<string, unknown>>): Address {
  return decodeAddress(new TextEncoder().encode(String(address)));
}

function resultOf(
  role: Result["role"],
  { kind, size }: Settings,
  latencies: Float64Array,
  counted: { sent: number; received: number; microseconds: number },
): Result {
  const latency = latencyOf(latencies);
  return { role, kind, size, latency, bandwidth: bandwidthOf(counted, size) };
}
