/**
 * A chat over multicast. Lines from standard input go to a group, and lines from the group to standard output. The network
 * copies a datagram to all members. There is no server, and nobody knows the members.
 *
 * ```text
 * group ::ffff:239.1.2.3, you are ::ffff:10.7.0.1 #17
 * ::ffff:10.7.0.2 #18: "hello all"
 * ```
 *
 * @module
 */

import { listenUd, type UdAddress, type UdConn } from "@rdma/ibverbs/net";
import { PORT, PORT_HELP, portOf, program, untilInterrupted } from "./support/program.ts";

const HELP = `Talks to a multicast group.

  deno run --allow-ffi examples/multicast_chat.ts [OPTIONS]

  -m, --group GROUP       IP address or GID of the group (default 239.1.2.3)
${PORT_HELP}
  -h, --help              show this text

Ctrl-D leaves the group. Two of them may run on one host: some adapters need two hosts.
With an IPv4 address the host joins the group as well, and switches forward its packets.
`;

const QKEY = 0x1111_1111;

const OPTIONS = { ...PORT, group: { type: "string", short: "m", default: "239.1.2.3" } } as const;

/** Chats. */
export const main = program("multicast_chat", HELP, { options: OPTIONS }, async ({ values }) => {
  using interruption = untilInterrupted();
  const { signal } = interruption;
  await using socket = await listenUd({ ...portOf(values), qkey: QKEY, signal });
  // The group is an address like any other. A send to it reaches all members.
  const deviceOnly = values.group.includes(":");
  const group = await socket.join(values.group, { signal, deviceOnly });
  console.log(`group ${group.gid}, you are ${nameOf(socket.addr)}`);
  const showing = show(socket);
  for await (const line of linesOf(Deno.stdin.readable, signal)) await say(socket, group, line);
  // The device sends in the background. Closing at once could stop the last line.
  await new Promise((resolve) => setTimeout(resolve, 100));
  socket.close();
  await showing;
});

async function show(socket: UdConn): Promise<void> {
  const own = nameOf(socket.addr);
  for await (const [message, from] of socket) {
    // Some devices do receive their own multicast.
    if (nameOf(from) === own) continue;
    // Anybody can send to a group. A line must not control the reader's terminal.
    console.log(`${nameOf(from)}: ${Deno.inspect(new TextDecoder().decode(message))}`);
  }
}

async function say(socket: UdConn, group: UdAddress, line: string): Promise<void> {
  const message = new TextEncoder().encode(line);
  // A datagram is one packet.
  if (message.length <= socket.maxMessage) await socket.send(message, group);
  else console.error(`The line has ${message.length} bytes, and ${socket.maxMessage} are possible`);
}

/** A GID names a port, and the number of the queue pair a program on that port. */
function nameOf({ gid, qpNum }: UdAddress): string {
  return `${gid} #${qpNum}`;
}

async function* linesOf(
  input: ReadableStream<Uint8Array<ArrayBuffer>>,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let rest = "";
  try {
    for await (const chunk of input.pipeThrough(new TextDecoderStream(), { signal })) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop()!;
      yield* lines;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

// After Ctrl-C a read of standard input is still pending. It would keep the program alive.
if (import.meta.main) Deno.exit(await main(Deno.args));
