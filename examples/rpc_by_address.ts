/**
 * Calls of functions on another host, which is found by its name or IP address. There is no TCP: the RDMA communication
 * manager makes the connection, and each call and each result is one message.
 *
 * ```text
 * server: a client connects
 * add(2,3) gives 5
 * reverse("hello") gives "olleh"
 * frobnicate() fails: there is no such function
 * ```
 *
 * @module
 */

import { Context } from "@rdma/ibverbs";
import { connectRc, listenRc, type RcConn, type RcListener } from "@rdma/ibverbs/net";
import { escapeControls } from "../internal/checks.ts";
import { flag, MAX_SECONDS, number, program, text } from "./support/command_line.ts";
import { checkEnds, gidIndexOf, PORT, PORT_HELP, type PortChoice } from "./support/ends.ts";
import { untilInterrupted } from "./support/signals.ts";

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

const ENDS = {
  listen: flag("l"),
  connect: text("c", undefined),
  service: number("p", 7471, 1, 65535),
  timeout: number("t", 10, 1, MAX_SECONDS),
};

/** Calls functions. */
export const main = program({
  name: "rpc_by_address",
  help: HELP,
  options: { ...PORT, ...ENDS },
  run: async (options) => {
    checkEnds(options);
    const { listen, connect, service: port, timeout } = options;
    using interruption = untilInterrupted();
    const settings = { port, connectTimeout: timeout * 1000, signal: interruption.signal };
    if (connect !== undefined) {
      return await callAll(await connectRc({ ...settings, hostname: connect }));
    }
    await using listener = await listenRc(settings);
    const serving = serve(listener);
    if (!listen) {
      const calling = connectRc({ ...settings, hostname: ownAddress(options) }).then(callAll);
      await calling.finally(() => listener.close());
    }
    await serving;
  },
});

/** The address that the device has: nobody finds a device by 127.0.0.1. */
function ownAddress(options: PortChoice): string {
  using context = Context.open(options.device);
  const gid = context.queryGid(options.port, gidIndexOf(context, options));
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
  const outcome = error === undefined ? `gives ${JSON.stringify(result)}` : `fails: ${error}`;
  console.log(escapeControls(`${name}(${args.map((arg) => JSON.stringify(arg))}) ${outcome}`));
}

function encode(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

if (import.meta.main) Deno.exitCode = await main(Deno.args);
