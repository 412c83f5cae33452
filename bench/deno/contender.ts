/** The same work as in ../c/contender.c, with this library. The lines that it reads and writes are described there. */

import { Context } from "../../mod.ts";
import { answer } from "./answers.ts";
import type { Plan } from "./clock.ts";
import { iterate, object, pollObjects } from "./objects.ts";
import * as polling from "./polling.ts";
import * as posting from "./posting.ts";
import { linesOf } from "../process.ts";
import { wakeUp, wakeUpSync } from "./waking.ts";
import { attributes, replyToUnknown } from "./replies.ts";

type Outcome = number | Readonly<Record<string, number>>;

/** Runs one round and returns the nanoseconds of one operation, or several figures. */
type Round = (context: Context, plan: Plan, argument: number) => Outcome | Promise<Outcome>;

const LIST = 32;

const ROUNDS: Readonly<Record<string, Round>> = {
  exported: polling.exported,
  poll_empty: polling.pollEmpty,
  poll_empty_slow: polling.pollEmptyWithoutThunks,
  post_send: posting.postSend,
  post_poll: posting.postPoll,
  post_poll_bigint: posting.postPollBigInt,
  changed: posting.changed,
  changed_bigint: posting.changedBigInt,
  object,
  poll_objects: pollObjects,
  iterate,
  answer: (context, plan, peers) => answer(context, plan, LIST, peers),
  answer_one: (context, plan, peers) => answer(context, plan, 1, peers),
  wake_up: wakeUp,
  wake_up_sync: wakeUpSync,
  attributes_first: (context, plan) => attributes(context, plan, 0),
  attributes_last: (context, plan) => attributes(context, plan, -1),
  reply_unknown: replyToUnknown,
};

const context = Context.open();
for await (const line of linesOf(Deno.stdin.readable)) console.log(await run(line));

async function run(line: string): Promise<string> {
  const [round, count, parts] = line.split(" ") as [string, string, string];
  const [name, argument = "0"] = round.split(":") as [string, string?];
  const plan = { count: Number(count), parts: Number(parts) };
  const outcome = await ROUNDS[name]!(context, plan, Number(argument));
  if (typeof outcome === "number") return `${outcome}`;
  const { value, ...others } = outcome;
  return [`${value}`, ...Object.entries(others).map(([key, figure]) => `${key}=${figure}`)].join(
    " ",
  );
}
