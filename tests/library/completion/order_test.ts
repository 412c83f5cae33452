// Completions are given once and in order, whoever polls: iterations, poll(), batches, or what drains the queue.
import { assertEquals } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import { CompletionQueue, type Completions, WorkCompletionList } from "../../../mod.ts";
import { drain } from "../../../types/completion/completion_queue.ts";
import { CompletionQueueEx } from "../../../types/completion/completion_queue_ex.ts";
import {
  CreateCqWcFlags,
  WorkCompletionListEx,
} from "../../../types/completion/work_completion_list_ex.ts";
import { Random } from "../../random.ts";
import { openRecorder } from "../recorded.ts";

const wcFlags = CreateCqWcFlags.COMPLETION_TIMESTAMP;

/** Numbers of completions as they were found; each has its number as timestamp as well. */
async function play(isExtended: boolean, seed: number): Promise<void> {
  using fixture = openRecorder();
  const { context } = fixture;
  const random = new Random(seed);
  // Without a channel there is no iteration.
  const channel = seed % 4 === 0 ? { channel: null } : {};
  const cq: CompletionQueue = isExtended
    ? new CompletionQueueEx(context, { cqe: 4096, wcFlags, ...channel })
    : new CompletionQueue(context, { cqe: 4096, ...channel });
  const found: bigint[] = [];
  let count = 0n;
  const note = (wc: { wrId: bigint; completionTs?: bigint }): void => {
    assertEquals(wc.completionTs ?? wc.wrId, wc.wrId, `seed ${seed}`);
    found.push(wc.wrId);
  };
  const iterate = (): Completions => cq.completions({ batch: 1 + random.below(8) });
  const iterations = seed % 4 === 0 ? [] : [iterate(), iterate()];
  const actions = [
    () => {
      for (let left = random.below(60); left > 0; left--) {
        recorder.complete("cq0", { wr_id: count, timestamp: count++ });
      }
    },
    () => cq.poll(1 + random.below(40)).forEach(note),
    () => {
      const batch = new WorkCompletionList(1 + random.below(9));
      cq.pollInto(batch);
      found.push(...[...batch].map(({ wrId }) => wrId));
    },
    () => {
      if (!(cq instanceof CompletionQueueEx)) return;
      const batch = new WorkCompletionListEx(1 + random.below(9));
      cq.pollInto(batch);
      [...batch].forEach(note);
    },
    () => drain(cq),
    async () => {
      const i = random.below(2);
      if (iterations.length === 0 || BigInt(found.length) === count) return;
      note((await iterations[i]!.next()).value!);
      if (!random.oneIn(4)) return;
      await iterations[i]!.return();
      iterations[i] = iterate();
    },
  ];
  for (let step = 0; step < 60; step++) await random.pick(actions)();
  while (BigInt(found.length) < count) cq.poll(256).forEach(note);
  assertEquals(found, Array.from({ length: Number(count) }, (_, i) => BigInt(i)), `seed ${seed}`);
}

for (const isExtended of [false, true]) {
  const name = isExtended ? "CompletionQueueEx" : "CompletionQueue";
  Deno.test(`${name} gives each completion once and in order, whoever polls`, async () => {
    for (let seed = 0; seed < 20; seed++) await play(isExtended, seed);
  });
}
