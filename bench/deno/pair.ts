/** One of two processes that send messages to each other, with this library or with sockets. See ../c/pair.c. */

import { linesOf } from "../contender.ts";
import { Connecting } from "./connecting.ts";
import type { Player } from "./echo.ts";
import { openRc, openUd } from "./net.ts";
import { DatagramEcho, DgramEcho, TcpEcho } from "./sockets.ts";
import { CompletionsEcho, VerbsEcho } from "./verbs.ts";

type Role = "server" | "client";

const KINDS: Readonly<Record<string, (role: Role) => Player | Promise<Player>>> = {
  rc_polling: () => new VerbsEcho("RC", false),
  ud_sync: () => new VerbsEcho("UD", true),
  ud_events: () => new CompletionsEcho(),
  net_ud: openUd,
  net_rc: (role) => openRc(role === "server"),
  datagram: () => new DatagramEcho(),
  dgram: () => DgramEcho.open(),
  tcp: (role) => new TcpEcho(role === "server"),
  cm: (role) => new Connecting(role === "server"),
};

const [role, kind] = Deno.args as [Role, string];
const lines = linesOf(Deno.stdin.readable);
const end = await KINDS[kind]!(role);
console.log(end.address);
await end.connect((await lines.next()).value!);
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
