/**
 * Sends a file, without verbs. The server shares a few slots of memory, and the client writes the parts of the file there, in
 * turn. Each write has its number, so that the server knows which slot to take, and the client waits for the
 * server. The
 * SHA-256 of both ends shows that nothing has changed on the way.
 *
 * ```text
 * server: 4194304 bytes in 64 parts, SHA-256 1c37be5d...
 * client: 4194304 bytes arrived as they were sent
 * ```
 *
 * @module
 */

import { createHash } from "node:crypto";
import { ProgressBar } from "@std/cli/unstable-progress-bar";
import { connectRc, listenRc, type RcConn, type RemoteMemory } from "@rdma/ibverbs/net";
import { choiceOf, ENDS, ENDS_HELP } from "./support/ends.ts";
import { PORT, PORT_HELP, portOf, program, untilInterrupted, whole } from "./support/program.ts";

const HELP = `Writes a file into the memory of another host, which stores it.

  deno run --allow-ffi --allow-net examples/file_transfer.ts [OPTIONS]
      runs both ends in this process, and sends random bytes
  deno run --allow-ffi --allow-net --allow-write examples/file_transfer.ts --listen [OPTIONS]
  deno run --allow-ffi --allow-net --allow-read examples/file_transfer.ts --connect HOST [OPTIONS]

  -f, --file PATH         file to send (default: random bytes)
  -s, --size BYTES        number of random bytes (default 4194304)
  -o, --output PATH       where the server stores the file (default: nowhere)
${PORT_HELP}
${ENDS_HELP}
`;

const PART = 65_536;
/** How many parts may wait for the server. It works on one more. */
const CREDITS = 8;
const SLOTS = CREDITS + 1;

const OPTIONS = {
  ...PORT,
  ...ENDS,
  file: { type: "string", short: "f" },
  size: { type: "string", short: "s", default: "4194304" },
  output: { type: "string", short: "o" },
} as const;

/** Sends a file. */
export const main = program("file_transfer", HELP, { options: OPTIONS }, async ({ values }) => {
  const { listen, connect, tcpPort, seconds } = choiceOf(values);
  const size = whole(values.size, "size", 0, 0x7fff_ffff);
  using interruption = untilInterrupted();
  const { signal } = interruption;
  const settings = {
    ...portOf(values),
    ...{ tcpPort, maxMessage: PART, connectTimeout: seconds * 1000 },
  };
  const sendAll = async (): Promise<void> => {
    const hostname = connect ?? "127.0.0.1";
    await using server = await connectRc({ ...settings, hostname, signal });
    using source = await openSource(values.file, size);
    await send(server, source, signal);
  };
  if (connect !== undefined) return await sendAll();
  const hostname = listen ? "0.0.0.0" : "127.0.0.1";
  await using listener = await listenRc({ ...settings, hostname, credits: CREDITS });
  const receiving = listener.accept({ signal })
    .then((client) => receive(client, values.output, signal));
  await Promise.all([receiving, ...listen ? [] : [sendAll()]]);
});

/** Bytes to send. */
interface Source extends Disposable {
  readonly size: number;
  /** Fills a part. It gives the number of bytes, and null at the end. */
  readonly read: (part: Uint8Array) => Promise<number | null>;
}

async function openSource(file: string | undefined, size: number): Promise<Source> {
  if (file === undefined) {
    const read = (part: Uint8Array<ArrayBuffer>): number => crypto.getRandomValues(part).length;
    return {
      size,
      read: (part) => Promise.resolve(read(part as Uint8Array<ArrayBuffer>)),
      [Symbol.dispose]: () => {},
    };
  }
  const opened = await Deno.open(file);
  const { size: length } = await opened.stat();
  return {
    size: length,
    read: (part) => opened.read(part),
    [Symbol.dispose]: () => opened.close(),
  };
}

/** Writes all parts, one after the other. */
async function send(server: RcConn, source: Source, signal: AbortSignal): Promise<void> {
  const { size } = source;
  await server.send(encode({ size }));
  const memory = await hear(server, signal) as RemoteMemory;
  const hash = createHash("sha256");
  const part = new Uint8Array(PART);
  const bar = Deno.stderr.isTerminal()
    ? new ProgressBar({ max: size || 1, clear: true })
    : undefined;
  try {
    let sent = 0;
    for (let i = 0; sent < size; i++) {
      const bytes = part.subarray(0, Math.min(PART, size - sent));
      await fill(bytes, source);
      hash.update(bytes);
      // It waits while the server has taken none of the last parts: no slot is overwritten before it was read.
      await server.write(memory, (i % SLOTS) * PART, bytes, { immData: i, signal });
      sent += bytes.length;
      if (bar) bar.value = sent;
    }
  } finally {
    await bar?.stop();
  }
  const { sha256 } = await hear(server, signal) as { readonly sha256: unknown };
  if (sha256 !== hash.digest("hex")) throw new Error("The bytes have changed on the way");
  console.log(`client: ${size} bytes arrived as they were sent`);
}

async function fill(part: Uint8Array, source: Source): Promise<void> {
  for (let filled = 0; filled < part.length;) {
    const count = await source.read(part.subarray(filled));
    if (count === null) throw new Error("The file has become shorter");
    filled += count;
  }
}

/** Takes all parts. A client can send anything: what it says is checked. */
async function receive(
  connection: RcConn,
  output: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  await using client = connection;
  const { size } = await hear(client, signal) as { readonly size: unknown };
  if (typeof size !== "number" || !(Number.isSafeInteger(size) && size >= 0)) {
    throw new Error("The client did not send the size");
  }
  using file = output === undefined
    ? undefined
    : await Deno.open(output, { create: true, write: true, truncate: true });
  using memory = await client.expose(SLOTS * PART);
  await client.send(encode(memory.remote));
  const hash = createHash("sha256");
  const writes = client.writes({ signal });
  let parts = 0;
  for (let received = 0; received < size; parts++) {
    const { value: number } = await writes.next();
    if (number !== parts) throw new Error(`The client wrote no part ${parts}`);
    const start = (parts % SLOTS) * PART;
    const bytes = memory.bytes.subarray(start, start + Math.min(PART, size - received));
    hash.update(bytes);
    for (let stored = 0; file && stored < bytes.length;) {
      stored += await file.write(bytes.subarray(stored));
    }
    received += bytes.length;
  }
  const sha256 = hash.digest("hex");
  await client.send(encode({ sha256 }));
  console.log(`server: ${size} bytes in ${parts} parts, SHA-256 ${sha256}`);
}

function encode(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

/** The next message of the other end. */
async function hear(peer: RcConn, signal: AbortSignal): Promise<unknown> {
  const message = await peer.receive({ signal });
  if (message === null) throw new Error("The other end closed the connection");
  return JSON.parse(new TextDecoder().decode(message));
}

if (import.meta.main) Deno.exitCode = await main(Deno.args);
