/**
 * Calls of functions on another host, which is found by its name or IP address. There is no TCP: the RDMA communication
 * manager makes the connection, and each call and each result is one message.
 *
 * ```text
 * server: a client connects
 * add(2,3) gives 5
 * reverse("hello") gives "olleh"
 * frobnicate() fails: "there is no such function"
 * ```
 *
 * @module
 */

import { Context } from "@rdma/ibverbs";
import { connectRc, listenRc, type RcConn, type RcListener } from "@rdma/ibverbs/net";
import { ENDS } from "./support/ends.ts";
import {
  PORT,
  type Port,
  PORT_HELP,
  portOf,
  program,
  untilInterrupted,
  UsageError,
  whole,
} from "./support/program.ts";

const HELP = `Calls functions of another host.

  deno run --allow-ffi examples/rpc_by_address.ts [OPTIONS]
      runs the server and the client in this process, at an address of the device
  deno run --allow-ffi examples/rpc_by_address.ts --listen [OPTIONS]
  deno run --allow-ffi examples/rpc_by_address.ts --connect HOST [OPTIONS]

  -l, --listen            run the server only, at all addresses of RDMA devices
  -c, --connect HOST      run the client only, and call the server on HOST: a name or an address
  -p, --service NUMBER    port of the server (default 7471)
  -t, --timeout SECONDS   how long to wait for the connection (default 10)
${PORT_HELP}
  -h, --help              show this text
`;

const { listen, connect, timeout } = ENDS;
const service = { type: "string", short: "p", default: "7471" } as const;
const OPTIONS = { ...PORT, listen, connect, timeout, service };

/** Calls functions. */
export const main = program("rpc_by_address", HELP, { options: OPTIONS }, async ({ values }) => {
  const { listen, connect } = values;
  if (listen && connect !== undefined) throw new UsageError("Give --listen or --connect, not both");
  const port = whole(values.service, "service", 1, 65_535);
  const connectTimeout = whole(values.timeout, "timeout", 1, 86_400) * 1000;
  using interruption = untilInterrupted();
  const settings = { port, connectTimeout, signal: interruption.signal };
  if (connect !== undefined) {
    return await callAll(await connectRc({ ...settings, hostname: connect }));
  }
  const hostname = ownAddress(portOf(values));
  await using listener = await listenRc(settings);
  const serving = serve(listener);
  if (!listen) {
    const calling = connectRc({ ...settings, hostname }).then(callAll);
    await calling.finally(() => listener.close());
  }
  await serving;
});

/** The address that the device has: nobody finds a device by 127.0.0.1. */
function ownAddress({ device, portNum, gidIndex }: Port): string {
  using context = Context.open(device);
  const gid = context.queryGid(portNum, gidIndex ?? context.recommendGid(portNum).gidIndex);
  return gid.toString().replace("::ffff:", "");
}

const FUNCTIONS: ReadonlyMap<string, (...args: never[]) => unknown> = new Map(Object.entries({
  add: (a: number, b: number) => a + b,
  reverse: (text: string) => [...text].reverse().join(""),
}));

async function serve(listener: RcListener): Promise<void> {
  const serving: Promise<void>[] = [];
  for await (const client of listener) {
    console.log("server: a client connects");
    // A client that went away is no reason to end.
    serving.push(answerAll(client).catch((error) => console.error(`server: ${error.message}`)));
  }
  await Promise.all(serving);
}

async function answerAll(client: RcConn): Promise<void> {
  await using _closing = client;
  for await (const message of client) await client.send(encode(answer(message)));
}

/** A client can send anything. What fails is its own affair. */
function answer(message: Uint8Array): { result: unknown } | { error: string } {
  try {
    const { name, args } = JSON.parse(new TextDecoder().decode(message));
    const called = FUNCTIONS.get(name);
    return called ? { result: called(...args as never[]) } : { error: "there is no such function" };
  } catch (error) {
    return { error: error instanceof Error ? error.message : "unknown" };
  }
}

const { inspect } = Deno;

async function callAll(connection: RcConn): Promise<void> {
  await using server = connection;
  await call(server, "add", 2, 3);
  await call(server, "reverse", "hello");
  await call(server, "frobnicate");
}

/** Messages arrive in order, each once: the next one is the answer. */
async function call(server: RcConn, name: string, ...args: unknown[]): Promise<void> {
  await server.send(encode({ name, args }));
  const message = await server.receive();
  if (message === null) throw new Error("The server closed the connection");
  const { result, error } = JSON.parse(new TextDecoder().decode(message));
  // The answer of another host must not control the terminal.
  const outcome = error === undefined ? `gives ${inspect(result)}` : `fails: ${inspect(error)}`;
  console.log(`${name}(${args.map((arg) => inspect(arg))}) ${outcome}`);
}

function encode(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

if (import.meta.main) Deno.exitCode = await main(Deno.args);
