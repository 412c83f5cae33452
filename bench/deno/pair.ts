/** One of two processes that send messages to each other, with this library or with sockets. See ../c/pair.c. */

import { linesOf } from "../contender.ts";
import { connections } from "./connections.ts";
import type { Echo } from "./echo.ts";
import { netRc, netUd } from "./net.ts";
import { datagram, dgram, tcp } from "./sockets.ts";
import { completions, verbs } from "./verbs.ts";

const KINDS: Readonly<Record<string, (isServer: boolean) => Echo | Promise<Echo>>> = {
  rc_polling: () => verbs("RC", false),
  ud_sync: () => verbs("UD", true),
  ud_events: completions,
  cm: connections,
  net_ud: netUd,
  net_rc: netRc,
  datagram,
  dgram,
  tcp,
};

const [role, kind] = Deno.args as [string, string];
const lines = linesOf(Deno.stdin.readable);
const end = await KINDS[kind]!(role === "server");
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
