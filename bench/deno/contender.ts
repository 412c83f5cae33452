/**
 * The same work as the other contenders', with this library. See ../c/contender.c.
 *
 * @module
 */

import { Context } from "../../mod.ts";
import { exchange, postPoll, postPollLow, postSend } from "./datagrams.ts";
import { pollEmpty, pollEmptyByPointer } from "./polling.ts";
import { predict } from "./prediction.ts";
import { attributes, reply } from "./replies.ts";
import { growth } from "./heap.ts";
import { wakeUp, wakeUpFloor } from "./waiting.ts";

/** Runs one round and gives the nanoseconds of one operation. */
export type Round = (context: Context, count: number) => number | Promise<number>;

const ROUNDS: Readonly<Record<string, Round>> = {
  poll_empty: pollEmpty,
  poll_empty_pointer: pollEmptyByPointer,
  post_send: postSend,
  post_poll: postPoll,
  post_poll_low: postPollLow,
  heap: growth,
  prediction: predict,
  ud_round: (context, count) => exchange(context, count, 1),
  ud_messages: (context, count) => exchange(context, count, 32),
  attributes_first: (context, count) => attributes(context, count, 0),
  attributes_last: (context, count) => attributes(context, count, -1),
  reply_10: (context, count) => reply(context, count, 10),
  reply_10000: (context, count) => reply(context, count, 10_000),
  wake_up: wakeUp,
  wake_up_floor: wakeUpFloor,
};

using context = Context.open();
const lines = Deno.stdin.readable
  .pipeThrough(new TextDecoderStream())
  .pipeThrough(new TransformStream(lineSplitter()));
for await (const line of lines) {
  const [name, count, parts] = line.split(" ") as [string, string, string];
  console.log(await middle(ROUNDS[name]!, Number(count), Number(parts)));
}

async function middle(round: Round, count: number, parts: number): Promise<number> {
  const taken: number[] = [];
  for (let i = 0; i < parts; i++) taken.push(await round(context, count));
  return taken.sort((a, b) => a - b)[parts >> 1]!;
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
