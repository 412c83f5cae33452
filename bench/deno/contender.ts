/** The same work as in ../c/contender.c, with this library. The lines that it reads and writes are described there. */

import { Context } from "../../mod.ts";
import { linesOf } from "../contender.ts";
import { answer } from "./answers.ts";
import type { Plan } from "./clock.ts";
import { End, LIST } from "./end.ts";
import { changed, makeAh, makeQp, pollEmpty, postSend } from "./rounds.ts";

/** Runs one round and returns the nanoseconds of one operation. */
const ROUNDS: Readonly<Record<string, (end: End, plan: Plan) => number>> = {
  poll_empty: pollEmpty,
  post_send: postSend,
  changed,
  answer: (end, plan) => answer(end, plan, LIST),
  answer_one: (end, plan) => answer(end, plan, 1),
  make_ah: makeAh,
  make_qp: makeQp,
};

/** It sends to itself. */
const end = new End(Context.open());
end.connect(end.qp.qpNum);
for await (const line of linesOf(Deno.stdin.readable)) {
  const [round, count, parts] = line.split(" ") as [string, string, string];
  console.log(ROUNDS[round]!(end, { count: Number(count), parts: Number(parts) }));
}
