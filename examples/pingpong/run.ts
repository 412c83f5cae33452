/** The course of a ping-pong, from the command line to the report. */

import { Context, listDevices } from "@rdma/ibverbs";
import { type Address, formatAddress } from "./address.ts";
import type { Endpoint, MakeEndpoint } from "./endpoint.ts";
import { exchangeAsClient, exchangeAsServer } from "./exchange.ts";
import { isMarked, mark } from "./marks.ts";
import { helpOf, type Options, parseOptions, type Tool } from "./options.ts";
import { PingPong } from "./ping_pong.ts";
import { report } from "./report.ts";
import { warmUp } from "./warm_up.ts";

/** Runs a tool. */
export async function runTool(
  tool: Tool,
  args: readonly string[],
  make: MakeEndpoint,
): Promise<void> {
  const options = parseOptions(tool, args);
  if (options === undefined) return console.log(helpOf(tool));
  // The C tools use the first device too, whether its port is active or not.
  using context = Context.open(options.ibDev ?? listDevices()[0]?.name);
  using endpoint = make(context, options);
  warmUp(context, options, make);
  // ibv_ud_pingpong, and no other tool, prints a colon here.
  const separator = tool.name === "ud_pingpong" ? ":" : ",";
  for (const here of endpoint.addresses) {
    console.log(`  local address:  ${formatAddress(here, separator)}`);
  }
  for (const there of await connect(endpoint, options, tool)) {
    console.log(`  remote address: ${formatAddress(there, ",")}`);
  }
  await play(endpoint, options);
}

async function play(endpoint: Endpoint, options: Options): Promise<void> {
  const { host, chk, events } = options;
  const pingPong = new PingPong(endpoint, options);
  pingPong.onFirst = endpoint.onFirst;
  if (chk && host !== undefined) mark(endpoint.message);
  if (host !== undefined) pingPong.start();
  const start = performance.now();
  if (events) await pingPong.sleep();
  else pingPong.poll();
  report(performance.now() - start, options);
  if (chk && host === undefined && !isMarked(endpoint.message)) Deno.exitCode = 1;
}

/** Exchanges addresses with the peer and connects to it. */
async function connect(
  endpoint: Endpoint,
  options: Options,
  { frames }: Tool,
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
