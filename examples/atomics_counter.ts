/**
 * A counter that several programs share. Each client adds to 8 bytes in the server's memory by fetch-and-add, an atomic
 * operation of the device. No addition gets lost, and no two clients get the same number. The server's program does not
 * take part.
 *
 * ```text
 * client 0: added 1 100 times, and got numbers from 0 to 396
 * ...
 * server: the counter is 400
 * ```
 *
 * @module
 */

import { connectRc, listenRc, type RcConn, type RemoteMemory } from "@rdma/ibverbs/net";
import { choiceOf, ENDS, ENDS_HELP } from "./support/ends.ts";
import { PORT, PORT_HELP, portOf, program, untilInterrupted, whole } from "./support/program.ts";

const HELP = `Counts in the memory of another host.

  deno run --allow-ffi --allow-net examples/atomics_counter.ts [OPTIONS]
      runs the server and the clients in this process
  deno run --allow-ffi --allow-net examples/atomics_counter.ts --listen [OPTIONS]
  deno run --allow-ffi --allow-net examples/atomics_counter.ts --connect HOST [OPTIONS]

  -n, --clients NUMBER    number of clients (default 4)
  -a, --adds NUMBER       how often each client adds 1 (default 100)
${PORT_HELP}
${ENDS_HELP}
`;

const OPTIONS = {
  ...PORT,
  ...ENDS,
  clients: { type: "string", short: "n", default: "4" },
  adds: { type: "string", short: "a", default: "100" },
} as const;

/** Counts together. */
export const main = program("atomics_counter", HELP, { options: OPTIONS }, async ({ values }) => {
  const { listen, connect, tcpPort, seconds } = choiceOf(values);
  const clients = whole(values.clients, "clients", 1, 1000);
  const adds = whole(values.adds, "adds", 1, 1_000_000);
  using interruption = untilInterrupted();
  const { signal } = interruption;
  const settings = { ...portOf(values), tcpPort, connectTimeout: seconds * 1000, signal };
  const countAll = (): Promise<void> => {
    // These connections exchange their addresses over TCP themselves.
    const dial = () => connectRc({ ...settings, hostname: connect ?? "127.0.0.1" });
    return countTogether(dial, clients, adds);
  };
  if (connect !== undefined) return await countAll();
  const hostname = listen ? "0.0.0.0" : "127.0.0.1";
  await using listener = await listenRc({ ...settings, hostname });
  // The device counts in the byte order of the host, as BigUint64Array does.
  const counter = new BigUint64Array(1);
  const serving = serve(listener, counter);
  if (!listen) await countAll().finally(() => listener.close());
  await serving;
  console.log(`server: the counter is ${counter[0]}`);
});

/** Shares the counter with each client until the listener is closed. */
async function serve(clients: AsyncIterable<RcConn>, counter: BigUint64Array): Promise<void> {
  const sharing: Promise<void>[] = [];
  for await (const client of clients) {
    // A client that went away is no reason to end.
    sharing.push(
      share(client, counter).catch((error) => console.error(`server: ${error.message}`)),
    );
  }
  await Promise.all(sharing);
}

async function share(connection: RcConn, counter: BigUint64Array): Promise<void> {
  await using client = connection;
  // Each connection registers the same 8 bytes. Its key works for its own client only.
  using memory = await client.expose(counter);
  await client.send(new TextEncoder().encode(JSON.stringify(memory.remote)));
  // Nothing else is sent: this waits until the client closes its end.
  await client.receive();
}

/** Runs the clients at the same time, and checks that each number was given once. */
async function countTogether(
  connect: () => Promise<RcConn>,
  clients: number,
  adds: number,
): Promise<void> {
  const given = await Promise.all(Array.from({ length: clients }, async (_, client) => {
    await using server = await connect();
    const numbers = await count(server, adds);
    const [first, last] = [numbers[0], numbers.at(-1)];
    console.log(
      `client ${client}: added 1 ${adds} times, and got numbers from ${first} to ${last}`,
    );
    return numbers;
  }));
  const all = given.flat();
  if (new Set(all).size < all.length) throw new Error("Two clients got the same number");
}

async function count(server: RcConn, adds: number): Promise<bigint[]> {
  const message = await server.receive();
  if (message === null) throw new Error("The server closed the connection");
  const memory: RemoteMemory = JSON.parse(new TextDecoder().decode(message));
  const numbers: bigint[] = [];
  // The result is the number before the addition.
  while (numbers.length < adds) numbers.push(await server.fetchAndAdd(memory, 0, 1n));
  return numbers;
}

if (import.meta.main) Deno.exitCode = await main(Deno.args);
