/**
 * The course of a ping-pong, from the options to the report.
 *
 * @module
 */

import { Context, listDevices } from "../../mod.ts";
import type { Terminal } from "../terminal.ts";
import { type Address, formatAddress } from "./address.ts";
import type { Endpoint } from "./endpoint.ts";
import { exchangeAsClient, exchangeAsServer } from "./exchange.ts";
import type { Kind } from "./kinds.ts";
import { mark, unmarkedPages } from "./marks.ts";
import type { Options } from "./options.ts";
import { PingPong } from "./ping_pong.ts";
import { type Report, reportLines } from "./report.ts";
import { warmUp } from "./warm_up.ts";

/** Runs a ping-pong. The result is the status of the process. */
export async function runPingPong(
  kind: Kind,
  options: Options,
  terminal: Terminal,
  json: boolean,
): Promise<number> {
  kind.check(options);
  const print = (lines: readonly string[]): void => json ? undefined : terminal.print(lines);
  // The C tools use the first device too, whether its port is active or not.
  using context = Context.open(options.ibDev ?? listDevices()[0]?.name);
  using endpoint = kind.make(context, options);
  warmUp(context, options, kind.make);
  const here = endpoint.addresses;
  print(here.map((address) => `  local address:  ${formatAddress(address, kind.separator)}`));
  const there = await connect(endpoint, options, kind);
  print(there.map((address) => `  remote address: ${formatAddress(address, ",")}`));
  const result = await play(endpoint, options, print);
  const unmarked = options.chk && options.host === undefined ? unmarkedPages(endpoint.message) : [];
  print(reportLines(result));
  print(unmarked.map((page) => `invalid data in page ${page}`));
  if (json) terminal.printJson({ local: here, remote: there, ...result, invalidPages: unmarked });
  return unmarked.length === 0 ? 0 : 1;
}

async function play(
  endpoint: Endpoint,
  options: Options,
  print: (lines: readonly string[]) => void,
): Promise<Report> {
  const { host, chk, events, size, iters } = options;
  const pingPong = new PingPong(endpoint, options);
  pingPong.onFirst = (wc) => {
    const line = endpoint.onFirst?.(wc);
    if (line !== undefined) print([line]);
  };
  if (chk && host !== undefined) mark(endpoint.message);
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
): Promise<Address[]> {
  const { host, port, timeout } = options;
  const here = endpoint.addresses;
  const exchange = { port, timeout, here, frames: frames ?? here.length };
  if (host === undefined) {
    return await exchangeAsServer(exchange, (there) => endpoint.connect(there));
  }
  const there = await exchangeAsClient(host, exchange);
  endpoint.connect(there);
  return there;
}
