/** The same work as in ../c/contender.c, with this library. */

import { linesOf } from "../../process.ts";
import { Context } from "../../../mod.ts";
import type { Sample } from "../../measurement.ts";
import { messages, single } from "./loop.ts";
import { netEcho } from "./net.ts";
import { growth, makeAndEnd } from "./objects.ts";
import type { Plan } from "../../deno/clock.ts";
import { LIST, losses } from "./queues.ts";
import { echo, replyLoop } from "./replies.ts";
import { serve, serveBare, serveSync } from "./serving.ts";

/** What a round comes to: the value alone, or with further figures. */
type Outcome = number | Sample;

/** Runs one round. The value is nanoseconds of one operation, if the row has no other unit. */
type Round = (context: Context, plan: Plan, kind: string) => Outcome | Promise<Outcome>;

/** Rounds by name. The name of a round of objects ends with the kind of object. */
const ROUNDS: Readonly<Record<string, Round>> = {
  ud_round: (context, plan) => messages(context, plan, 1),
  ud_list: (context, plan) => messages(context, plan, LIST),
  ud_single: single,
  reply_cached: replyLoop,
  echo,
  net_echo: netEcho,
  make: (context, plan, kind) => makeAndEnd(context, kind, plan),
  growth,
  serve,
  serve_bare: serveBare,
  serve_sync: serveSync,
};

const WITH_KIND = /^(make)_(.+)$/;

using context = Context.open();
for await (const line of linesOf(Deno.stdin.readable)) {
  const [name, count, parts] = line.split(" ") as [string, string, string];
  const [, round = name, kind = ""] = WITH_KIND.exec(name) ?? [];
  const plan = { count: Number(count), parts: Number(parts) };
  losses.count = 0;
  const outcome = await ROUNDS[round]!(context, plan, kind);
  const { value, ...figures } = typeof outcome === "number" ? { value: outcome } : outcome;
  const others = Object.entries({ ...figures, lost: losses.count });
  console.log(`${value} ${others.map((entry) => entry.join("=")).join(" ")}`);
}
