/**
 * Sends a datagram back and forth and measures how long that takes. It has the options and the output of
 * `ibv_ud_pingpong` of rdma-core, and works with it as server and as client.
 *
 * @module
 */

import { Context, listDevices } from "@rdma/ibverbs";
import { formatAddress } from "./pingpong/address.ts";
import { exchangeAsClient, exchangeAsServer } from "./pingpong/exchange.ts";
import { helpOf, type Options, parseOptions } from "./pingpong/options.ts";
import { PingPong } from "./pingpong/ping_pong.ts";
import { report } from "./pingpong/report.ts";
import { run, UsageError } from "./support/command_line.ts";
import { Endpoint } from "./ud_pingpong/endpoint.ts";
import { TOOL } from "./ud_pingpong/tool.ts";
import { warmUp } from "./ud_pingpong/warm_up.ts";

async function main(args: readonly string[]): Promise<void> {
  const options = parseOptions(TOOL, args);
  if (options === undefined) return console.log(helpOf(TOOL));
  checkRole(options);
  // The C tool takes the first device too, whether its port is active or not.
  using context = Context.open(options.ibDev ?? listDevices()[0]?.name);
  using endpoint = new Endpoint(context, options);
  warmUp(context, options);
  console.log(`  local address:  ${formatAddress(endpoint.address, ":")}`);
  await connect(endpoint, options);
  const pingPong = new PingPong(endpoint, options);
  if (options.replyFromWc) {
    pingPong.onFirst = (wc) => console.log(`  reply address:  ${endpoint.sendToSenderOf(wc)}`);
  }
  if (options.host !== undefined) {
    if (options.chk) endpoint.message[0] = MARK;
    pingPong.start();
  }
  const start = performance.now();
  if (options.events) await pingPong.sleep();
  else pingPong.poll();
  report(performance.now() - start, options);
  if (options.chk && options.host === undefined) verify(endpoint);
}

function checkRole({ replyFromWc, host }: Options): void {
  if (!replyFromWc || host === undefined) return;
  throw new UsageError("--reply-from-wc is for the server: the client sends first");
}

/** Gets the peer's address. After it the endpoint can send. */
async function connect(endpoint: Endpoint, options: Options): Promise<void> {
  const { host, port, timeout, replyFromWc } = options;
  const exchange = { port, timeout, here: [endpoint.address] };
  if (host === undefined) {
    const [there] = await exchangeAsServer(exchange, ([there]) => {
      endpoint.activate();
      if (!replyFromWc) endpoint.sendTo(there!);
    });
    console.log(`  remote address: ${formatAddress(there!, ",")}`);
  } else {
    const [there] = await exchangeAsClient(host, exchange);
    console.log(`  remote address: ${formatAddress(there!, ",")}`);
    endpoint.activate();
    endpoint.sendTo(there!);
  }
}

// The C tool writes the number of each page modulo sizeof(char) into the first byte of the page. That is always 0, and
// a datagram has one page.
const MARK = 0;

function verify(endpoint: Endpoint): void {
  if (endpoint.message[0] === MARK) return;
  console.log("invalid data in page 0");
  Deno.exitCode = 1;
}

await run("ud_pingpong", () => main(Deno.args));
