/** The same work as in ../c/contender.c, with this library. */

import { linesOf } from "../../process.ts";
import { Context } from "../../../mod.ts";
import { messages } from "./loop.ts";
import { netEcho, netEchoMany } from "./net.ts";
import { makeAndEnd } from "./objects.ts";
import type { Plan } from "../../deno/clock.ts";
import { LIST } from "../../deno/datagrams.ts";
import { losses } from "./queues.ts";
import { echo, replyLoop } from "./replies.ts";
import { dgramEcho, udpEcho } from "./sockets.ts";
import { serve, serveSync } from "./serving.ts";

/** Runs one round. The value is nanoseconds of one operation. */
type Round = (context: Context, plan: Plan, kind: string) => number | Promise<number>;

/** Rounds by name. The name of a round of objects ends with the kind of object. */
const ROUNDS: Readonly<Record<string, Round>> = {
  ud_round: (context, plan) => messages(context, plan, 1),
  ud_list: (context, plan) => messages(context, plan, LIST),
  reply_cached: replyLoop,
  echo,
  net_echo: netEcho,
  net_echo_list: netEchoMany,
  udp_echo: (context, plan) => udpEcho(context, plan, 1),
  udp_echo_list: (context, plan) => udpEcho(context, plan, LIST),
  dgram_echo: (context, plan) => dgramEcho(context, plan, 1),
  dgram_echo_list: (context, plan) => dgramEcho(context, plan, LIST),
  make: (context, plan, kind) => makeAndEnd(context, kind, plan),
  serve,
  serve_sync: serveSync,
};

const WITH_KIND = /^(make)_(.+)$/;

using context = Context.open();
for await (const line of linesOf(Deno.stdin.readable)) {
  const [name, count, parts] = line.split(" ") as [string, string, string];
  const [, round = name, kind = ""] = WITH_KIND.exec(name) ?? [];
  const plan = { count: Number(count), parts: Number(parts) };
  losses.count = 0;
  console.log(`${await ROUNDS[round]!(context, plan, kind)} lost=${losses.count}`);
}
