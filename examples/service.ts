/**
 * A service that runs until the system ends it: it sends datagrams back, and a page over HTTP shows its address and its
 * counters, as what watches services wants to know. At SIGTERM it takes no further request, answers those in progress,
 * closes the connection and ends with status 0.
 *
 * ```text
 * the address and the counters: http://127.0.0.1:8080/
 * ended: 1 datagrams came, 1 were sent back
 * ```
 *
 * @module
 */

import { listenUd, type UdConn } from "@rdma/ibverbs/net";
import { PORT, PORT_HELP, portOf, program, untilInterrupted, whole } from "./support/program.ts";

const HELP = `Sends datagrams back, and shows its address over HTTP, until SIGTERM or Ctrl-C.

  deno run --allow-ffi --allow-net examples/service.ts [OPTIONS]

  -p, --http-port NUMBER  TCP port of the page (default 8080)
${PORT_HELP}
  -h, --help              show this text
`;

const QKEY = 0x1111_1111;

const OPTIONS = { ...PORT, "http-port": { type: "string", short: "p", default: "8080" } } as const;

/** Serves until the system ends the program. */
export const main = program("service", HELP, { options: OPTIONS }, async ({ values }) => {
  const port = whole(values["http-port"], "http-port", 1, 65_535);
  using interruption = untilInterrupted();
  const { signal } = interruption;
  // The connection outlives the page: requests in progress ask it.
  await using conn = await listenUd({ ...portOf(values), qkey: QKEY });
  const echoing = echo(conn);
  const onListen = ({ hostname, port }: Deno.NetAddr): void =>
    console.log(`the address and the counters: http://${hostname}:${port}/`);
  const page = Deno.serve(
    { hostname: "127.0.0.1", port, signal, onListen },
    () => Response.json({ address: conn.addr, ...conn.stats }),
  );
  await page.finished;
  const { received, sent } = conn.stats;
  await conn[Symbol.asyncDispose]();
  await echoing;
  console.log(`ended: ${received} datagrams came, ${sent} were sent back`);
});

async function echo(conn: UdConn): Promise<void> {
  for await (const [message, from] of conn) await conn.send(message, from);
}

if (import.meta.main) Deno.exitCode = await main(Deno.args);
