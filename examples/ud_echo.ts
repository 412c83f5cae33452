/**
 * Echoes datagrams, without verbs: `@rdma/ibverbs/net` has sockets for datagrams, much like `Deno.DatagramConn`.
 * The server sends each datagram back to its sender. It gets the sender's address with the datagram.
 *
 * ```text
 * server: 5 bytes from ::ffff:10.0.0.1, queue pair 18
 * client: "hello" came back
 * ```
 *
 * @module
 */

import { listenUd, type UdAddress, type UdConn } from "@rdma/ibverbs/net";
import { choiceOf, ENDS, ENDS_HELP, giveAll, runEnds } from "./support/ends.ts";
import { PORT, PORT_HELP, portOf, program } from "./support/program.ts";

const HELP = `Sends datagrams back to their senders.

  deno run --allow-ffi examples/ud_echo.ts [OPTIONS]
      runs both ends in this process
  deno run --allow-ffi --allow-net examples/ud_echo.ts --listen [OPTIONS]
  deno run --allow-ffi --allow-net examples/ud_echo.ts --connect HOST [OPTIONS]

  -m, --message TEXT      message to send (default "hello")
${PORT_HELP}
${ENDS_HELP}
`;

// The device drops datagrams with another qkey. Any number works if both ends use the same.
const QKEY = 0x1111_1111;

const OPTIONS = {
  ...PORT,
  ...ENDS,
  message: { type: "string", short: "m", default: "hello" },
} as const;

/** Echoes datagrams. */
export const main = program("ud_echo", HELP, { options: OPTIONS }, async ({ values }) => {
  const [choice, port] = [choiceOf(values), portOf(values)];
  const open = (signal: AbortSignal): Promise<UdConn> => listenUd({ ...port, qkey: QKEY, signal });
  await runEnds(choice, {
    server: async (peers, _signal, done) => {
      await using socket = await open(done);
      // The address is plain data. How it gets to the clients is not RDMA's business: here it is TCP.
      const giving = giveAll(peers, socket.addr);
      for await (const [message, from] of socket) {
        await socket.send(message, from);
        console.log(`server: ${message.length} bytes from ${from.gid}, queue pair ${from.qpNum}`);
      }
      await giving;
    },
    client: async (server, signal) => {
      await using socket = await open(signal);
      const address = await server(null) as UdAddress;
      const answer = await ask(socket, address, values.message, choice.seconds);
      console.log(`client: ${Deno.inspect(answer)} came back`);
    },
  });
});

/** A datagram or its answer can be lost, and nobody reports it: this asks again each second until an answer comes. */
async function ask(
  socket: UdConn,
  server: UdAddress,
  question: string,
  seconds: number,
): Promise<string> {
  for (let second = 0; second < seconds; second++) {
    await socket.send(new TextEncoder().encode(question), server);
    const late = AbortSignal.timeout(1000);
    try {
      const [answer] = await socket.receive({ signal: late });
      return new TextDecoder().decode(answer);
    } catch (error) {
      if (error !== late.reason) throw error;
    }
  }
  throw new Error(`Nobody answered within ${seconds} s`);
}

if (import.meta.main) Deno.exitCode = await main(Deno.args);
