/** One of two processes that send messages to each other, with this library or with sockets. See ../c/pair.c. */

import { linesOf } from "../contender.ts";
import { connections } from "./connections.ts";
import type { Echo } from "./echo.ts";
import { netRc, netRelay, netUd } from "./net.ts";
import { datagram, datagramRelay, dgram, tcp } from "./sockets.ts";
import { netStream, netWrite, tcpStream } from "./streams.ts";
import { completions, verbs } from "./verbs.ts";

/** They sleep at once. */
const SLEEPING = { spinMicroseconds: 0 };

/** Some have a number: of bytes, or of peers. */
const KINDS: Readonly<
  Record<string, (isServer: boolean, number: number) => Echo | Promise<Echo>>
> = {
  ud_polling: () => verbs("UD"),
  rc_polling: () => verbs("RC"),
  ud_sync: () => verbs("UD", true),
  ud_events: () => completions(),
  ud_sleeping: () => completions(SLEEPING),
  cm: connections,
  net_ud: () => netUd(),
  net_ud_sleeping: () => netUd(SLEEPING),
  net_ud_peers: (_, maxPeers) => netUd({ maxPeers }),
  net_relay: netRelay,
  net_rc: netRc,
  net_stream: netStream,
  net_write: netWrite,
  datagram,
  datagram_relay: datagramRelay,
  dgram,
  tcp,
  tcp_stream: tcpStream,
};

const [role, kind, number] = Deno.args as [string, string, string?];
const lines = linesOf(Deno.stdin.readable);
const end = await KINDS[kind]!(role === "server", Number(number));
console.log(end.address);
// Ends in C say more than this.
await end.connect((await lines.next()).value!.split(" ")[0]!);
console.log("connected");
for await (const line of lines) {
  const [count, window] = line.split(" ").map(Number) as [number, number];
  if (role === "client") console.log(await end.play(count, window));
  else {
    await end.serve(count);
    console.log(0);
  }
}
Deno.exit(0);
