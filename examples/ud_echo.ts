/**
 * Echoes datagrams, without verbs: `@rdma/ibverbs/net` has sockets for datagrams, in the shape of `Deno.DatagramConn`. The
 * server sends each datagram back to its sender. Nobody tells it the sender's address: it arrives with the datagram.
 *
 * ```text
 * server: 5 bytes from ::ffff:10.0.0.1, queue pair 18
 * client: "hello" came back
 * ```
 *
 * @module
 */

import { listenUd, type UdAddress, type UdConn } from "@rdma/ibverbs/net";
import { quote } from "../internal/checks.ts";
import { ask } from "./support/ask.ts";
import { program, text } from "./support/command_line.ts";
import {
  ENDS,
  ENDS_HELP,
  PORT,
  PORT_HELP,
  runEnds,
  socketOptions,
  tellAll,
} from "./support/ends.ts";

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

/** Echoes datagrams. */
export const main = program({
  name: "ud_echo",
  help: HELP,
  options: { ...PORT, ...ENDS, message: text("m", "hello") },
  run: async (options) => {
    const open = (signal: AbortSignal): Promise<UdConn> =>
      listenUd({ ...socketOptions(options), qkey: QKEY, signal });
    await runEnds(options, {
      server: async (peers, _wait, done) => {
        await using socket = await open(done);
        // The address is plain data. How it gets to the clients is not RDMA's business: here it is TCP.
        const telling = tellAll(peers, socket.addr);
        for await (const [message, from] of socket) {
          await socket.send(message, from);
          console.log(`server: ${message.length} bytes from ${from.gid}, queue pair ${from.qpn}`);
        }
        await telling;
      },
      client: async (server, wait) => {
        await using socket = await open(wait.signal);
        const address = await server(null) as UdAddress;
        // A datagram can be lost, and nobody reports it: this asks again until an answer comes.
        await ask(socket, address, options.message, wait);
        console.log(`client: ${quote(options.message)} came back`);
      },
    });
  },
});

if (import.meta.main) Deno.exitCode = await main(Deno.args);
