/**
 * Sends a datagram to and fro and tells how long that takes. It speaks to `ibv_ud_pingpong` of rdma-core, takes the
 * same options and prints the same lines; each of the two may be the server or the client of the other.
 *
 * @module
 */

import { Context, listDevices, type WorkCompletion } from "@rdma/ibverbs";
import { run } from "./support/command_line.ts";
import { formatAddress } from "./ud_pingpong/address.ts";
import { Endpoint } from "./ud_pingpong/endpoint.ts";
import { exchangeAsClient, exchangeAsServer } from "./ud_pingpong/exchange.ts";
import { HELP, type Options, parseOptions } from "./ud_pingpong/options.ts";
import { Rally } from "./ud_pingpong/rally.ts";
import { warmUp } from "./ud_pingpong/warm_up.ts";

async function main(args: readonly string[]): Promise<void> {
  const options = parseOptions(args);
  if (options === undefined) return console.log(HELP);
  // Like the tool it takes the first device, active or not.
  using context = Context.open(options.device ?? listDevices()[0]?.name);
  using endpoint = new Endpoint(context, options);
  warmUp(context, options);
  console.log(`  local address:  ${formatAddress(endpoint.address, ":")}`);
  await meet(endpoint, options);
  const rally = new Rally(endpoint, options);
  if (options.replyFromWc) rally.onFirst = (wc) => answerSender(endpoint, wc);
  if (options.host !== undefined) serve(endpoint, rally, options);
  const start = performance.now();
  if (options.events) await rally.sleep();
  else rally.poll();
  report((performance.now() - start) * 1000, options);
  if (options.check && options.host === undefined) verify(endpoint);
}

/** Learns the peer's address; afterwards the endpoint is able to send. */
async function meet(endpoint: Endpoint, options: Options): Promise<void> {
  const { host, port, timeout, replyFromWc } = options;
  const exchange = { port, timeout, here: endpoint.address };
  if (host === undefined) {
    const there = await exchangeAsServer(exchange, (there) => {
      endpoint.activate();
      if (!replyFromWc) endpoint.aimAt(there);
    });
    console.log(`  remote address: ${formatAddress(there, ",")}`);
  } else {
    const there = await exchangeAsClient(host, exchange);
    console.log(`  remote address: ${formatAddress(there, ",")}`);
    endpoint.activate();
    endpoint.aimAt(there);
  }
}

function answerSender(endpoint: Endpoint, wc: WorkCompletion): void {
  const sender = endpoint.aimAtSenderOf(wc);
  console.log(`  reply address:  ${sender}`);
}

// The tool writes the number of each page modulo sizeof(char) into its first byte. That is 0, and a datagram has
// one page.
const MARK = 0;

function serve(endpoint: Endpoint, rally: Rally, { check }: Options): void {
  if (check) endpoint.message[0] = MARK;
  rally.serve();
}

function verify(endpoint: Endpoint): void {
  if (endpoint.message[0] === MARK) return;
  console.log("invalid data in page 0");
  Deno.exitCode = 1;
}

function report(microseconds: number, { size, iters }: Options): void {
  const bytes = size * iters * 2;
  const seconds = (microseconds / 1e6).toFixed(2);
  const rate = (bytes * 8 / microseconds).toFixed(2);
  console.log(`${bytes} bytes in ${seconds} seconds = ${rate} Mbit/sec`);
  console.log(
    `${iters} iters in ${seconds} seconds = ${(microseconds / iters).toFixed(2)} usec/iter`,
  );
}

await run("ud_pingpong", () => main(Deno.args));
