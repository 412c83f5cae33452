/**
 * The same work as in ../c/contender.c, with this library.
 *
 * @module
 */

import { Context } from "../../mod.ts";
import type { Plan } from "./clock.ts";
import { exchange, postPoll, postPollLow, postSend } from "./datagrams.ts";
import { pollEmpty, pollEmptyWithoutThunks } from "./polling.ts";
import { predict } from "./prediction.ts";
import { attributes, reply } from "./replies.ts";
import { growth } from "./heap.ts";
import { wakeUp, wakeUpFloor } from "./waiting.ts";

/** Runs one round and returns the nanoseconds of one operation. */
export type Round = (context: Context, plan: Plan) => number | Promise<number>;

const ROUNDS: Readonly<Record<string, Round>> = {
  poll_empty: pollEmpty,
  poll_empty_slow: pollEmptyWithoutThunks,
  post_send: postSend,
  post_poll: postPoll,
  post_poll_low: postPollLow,
  heap: growth,
  prediction: predict,
  ud_round: (context, plan) => exchange(context, plan, 1),
  ud_messages: (context, plan) => exchange(context, plan, 32),
  attributes_first: (context, plan) => attributes(context, plan, 0),
  attributes_last: (context, plan) => attributes(context, plan, -1),
  reply_10: (context, plan) => reply(context, plan, 10),
  reply_10000: (context, plan) => reply(context, plan, 10_000),
  wake_up: wakeUp,
  wake_up_floor: wakeUpFloor,
};

using context = Context.open();
const lines = Deno.stdin.readable
  .pipeThrough(new TextDecoderStream())
  .pipeThrough(new TransformStream(lineSplitter()));
for await (const line of lines) {
  const [name, count, parts] = line.split(" ") as [string, string, string];
  console.log(await ROUNDS[name]!(context, { count: Number(count), parts: Number(parts) }));
}

function lineSplitter(): Transformer<string, string> {
  let rest = "";
  return {
    transform(chunk, controller): void {
      const parts = (rest + chunk).split("\n");
      rest = parts.pop()!;
      for (const part of parts) controller.enqueue(part);
    },
  };
}
