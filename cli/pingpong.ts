import { quote } from "./shell/text.ts";
import type { Context } from "@rdma/ibverbs";
import { type Address, formatAddress } from "./peer/address.ts";
import { Endpoint } from "./peer/endpoint.ts";
import { type Options, optionsFor, readOptions } from "./peer/options.ts";
import { exchangeAsClient, exchangeAsServer } from "./pingpong/exchange.ts";
import { type Kind, KINDS } from "./pingpong/kinds.ts";
import { PingPong } from "./pingpong/ping_pong.ts";
import { type Command, command, messageOf, summaries, UsageError } from "./shell/command.ts";
import { openFirst, type Report } from "./shell/ports.ts";
import { didYouMean } from "./shell/suggest.ts";
import type { Terminal } from "./shell/terminal.ts";

/**
 * The marks that `--chk` looks for. The C tools write the number of each page modulo sizeof(char) into the first byte of
 * the page, which is always 0.
 */
const MARK = 0;
const PAGE = 4096;

/** Messages of one warm-up: more than the default depth of the receive queue, so that refilling it is compiled too. */
const ROUND = 1000;
const IDLE_TURNS = 100;
const IDLE_POLLS = 10;

function pingPongOf(name: string, kind: Kind): Command {
  return command({
    name: `pingpong ${name}`,
    summary: kind.summary,
    details: `
Without HOST it is a server and waits for a client; with HOST it connects to the server there. The
peer may be ibv_${name}_pingpong. Both ends need the same --size and --iters.
It needs --allow-net for the exchange of addresses.`,
    operands: "[HOST]",
    options: optionsFor(kind),
    run: (values, terminal, operands) =>
      runPingPong(kind, readOptions(kind, values, operands), terminal, values.json),
  });
}

const NAMES = Object.keys(KINDS);
const SUMMARY = "Sends messages back and forth, as ibv_*_pingpong do; works with them.";

/** The first argument chooses the kind. */
export const pingpong: Command = {
  name: "pingpong",
  summary: SUMMARY,
  run: async ([name, ...rest], terminal) => {
    if (name === "--help" || name === "-h") {
      const rows = Object.entries(KINDS).map(([name, { summary }]) => ({ name, summary }));
      const usage = `  pingpong ${NAMES.join("|")} [OPTIONS]`;
      terminal.print([SUMMARY, "", usage, "", ...summaries(rows)]);
      return 0;
    }
    const one = `one of ${NAMES.join(", ")}`;
    if (name === undefined) throw new UsageError(`it takes ${one}`);
    const kind = Object.entries(KINDS).find(([known]) => known === name)?.[1];
    if (kind !== undefined) return await pingPongOf(name, kind).run(rest, terminal);
    const isOption = name.startsWith("-");
    const what = isOption ? `an option${didYouMean(name, ["--help"])}` : one;
    throw new UsageError(`${quote(name)} is not ${what}`);
  },
};

/** Runs a ping-pong. The result is the status of the process. */
async function runPingPong(
  kind: Kind,
  options: Options,
  terminal: Terminal,
  json: boolean,
): Promise<number> {
  kind.check?.(options);
  const print = (lines: readonly string[]): void => json ? undefined : terminal.print(lines);
  // The C tools use the first device too, whether its port is active or not.
  const report = (error: unknown): void => terminal.printError(`pingpong: ${messageOf(error)}`);
  using context = openFirst(options.ibDev, report);
  using endpoint = new Endpoint(context, options, kind);
  warmUp(context, options, kind);
  const here = endpoint.addresses;
  print(here.map((address) => `  local address:  ${formatAddress(address, kind.separator)}`));
  const there = await connect(endpoint, options, kind, report);
  print(there.map((address) => `  remote address: ${formatAddress(address, ",")}`));
  const result = await play(endpoint, options, print);
  const unmarked = options.chk && options.host === undefined ? unmarkedPages(endpoint.message) : [];
  const seconds = (result.microseconds / 1e6).toFixed(2);
  const rate = (result.bytes * 8 / result.microseconds).toFixed(2);
  const each = (result.microseconds / result.iters).toFixed(2);
  print([
    `${result.bytes} bytes in ${seconds} seconds = ${rate} Mbit/sec`,
    `${result.iters} iters in ${seconds} seconds = ${each} usec/iter`,
  ]);
  print(unmarked.map((page) => `invalid data in page ${page}`));
  if (json) terminal.printJson({ local: here, remote: there, ...result, invalidPages: unmarked });
  return unmarked.length === 0 ? 0 : 1;
}

async function play(
  endpoint: Endpoint,
  options: Options,
  print: (lines: readonly string[]) => void,
): Promise<{ bytes: number; iters: number; microseconds: number }> {
  const { host, chk, events, size, iters } = options;
  const pingPong = new PingPong(endpoint, options);
  pingPong.onFirst = (wc) => {
    const line = endpoint.onFirst(wc);
    if (line !== undefined) print([line]);
  };
  if (chk && host !== undefined) {
    for (let i = 0; i < endpoint.message.length; i += PAGE) endpoint.message[i] = MARK;
  }
  if (host !== undefined) pingPong.start();
  const start = performance.now();
  if (events) await pingPong.sleep();
  else pingPong.poll();
  const microseconds = (performance.now() - start) * 1000;
  return { bytes: size * iters * 2, iters, microseconds };
}

/** Exchanges addresses with the peer and connects to it. */
async function connect(
  endpoint: Endpoint,
  options: Options,
  { frames }: Kind,
  report: Report,
): Promise<Address[]> {
  const { host, port, timeout } = options;
  const exchange = { port, timeout, here: endpoint.addresses, frames };
  if (host === undefined) {
    return await exchangeAsServer(exchange, (there) => endpoint.connect(there), report);
  }
  const there = await exchangeAsClient(host, exchange);
  endpoint.connect(there);
  return there;
}

/** The numbers of the pages without a mark. */
function unmarkedPages(message: Uint8Array): number[] {
  const pages = Array.from({ length: Math.ceil(message.length / PAGE) }, (_, page) => page);
  return pages.filter((page) => message[page * PAGE] !== MARK);
}

/**
 * Runs ping-pongs with itself, so that the measurement shows the messages and not V8's compiler. The C tool is compiled
 * already. Each ping-pong is short and disposes its objects: V8 discards code that it optimized before the first object
 * was disposed.
 */
function warmUp(context: Context, options: Options, kind: Kind): void {
  for (let left = options.warmUp; left > 0; left -= ROUND) {
    using endpoint = new Endpoint(context, { ...options, replyFromWc: false }, kind);
    endpoint.connect(endpoint.addresses);
    const pingPong = new PingPong(endpoint, { ...options, iters: Math.min(left, ROUND) });
    // A message to itself arrives at once. One from a peer does not, so empty polls are compiled too.
    for (let i = 0; i < IDLE_TURNS; i++) pingPong.turn(IDLE_POLLS);
    pingPong.start();
    pingPong.poll();
  }
}
