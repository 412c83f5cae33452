// Iterating over completions, over a source that is not a queue.
import { assert, assertEquals } from "@std/assert";
import { BusyPoll } from "../../../wait/busy_poll.ts";
import type { IbvCq } from "../../../ffi/handles.ts";
import { Completions } from "../../../types/completion/completions.ts";
import type { WorkCompletion } from "../../../types/completion/work_completion.ts";
import { NativeResource } from "../../../types/core/native_resource.ts";

const COMPLETION = { wrId: 1n } as WorkCompletion;

/** A busy poll that finds nothing. */
class IdlePoll extends BusyPoll {
  constructor(private readonly onPoll: () => void) {
    super(0);
  }

  override finds(): boolean {
    this.onPoll();
    return false;
  }
}

/** What is armed, and closed like a queue. */
class Queue extends NativeResource<IbvCq> {
  constructor() {
    super({ name: "queue", destroy: () => {} }, {} as IbvCq, []);
  }
}

interface Source {
  readonly read: () => number;
  readonly take: () => WorkCompletion;
  readonly arm: () => void;
  readonly wait: () => Promise<void>;
  readonly signal: AbortSignal;
  readonly busyPoll: BusyPoll;
}

function completionsOf(
  {
    read = () => 1,
    take = () => COMPLETION,
    arm = () => {},
    wait = async () => await Promise.resolve(),
    signal,
    busyPoll = new BusyPoll(0),
  }: Partial<Source>,
): Completions {
  const cq = new Queue();
  return new Completions({
    cq,
    core: { ahead: read, take },
    events: { arm, wait: () => wait().then(() => cq) },
    batch: 1,
    busyPoll,
    signal,
  });
}

Deno.test("Completions lets timers run while completions keep coming", async () => {
  let fired = false;
  setTimeout(() => fired = true, 5);
  for await (const _ of completionsOf({})) {
    if (fired) break;
  }
  assert(fired);
});

Deno.test("Completions lets timers run although each completion takes long to process", async () => {
  let fired = 0;
  const timer = setInterval(() => fired++, 1);
  let given = 0;
  for await (const _ of completionsOf({})) {
    const until = performance.now() + 2;
    while (performance.now() < until);
    if (++given === 20) break;
  }
  clearInterval(timer);
  // It would be 1 if the clock were read at every 64th completion only.
  assert(fired > 2);
});

Deno.test("Completions polls, arms the queue, polls once more and waits only then", async () => {
  const steps: string[] = [];
  let left = 3;
  const completions = completionsOf({
    busyPoll: new IdlePoll(() => steps.push("spin")),
    read: () => (steps.push("read"), Number(--left === 0)),
    arm: () => void steps.push("arm"),
    wait: async () => {
      steps.push("wait");
      await Promise.resolve();
    },
  });
  await completions.next();
  assertEquals(steps.join(" "), "read spin arm read wait read");
});

Deno.test("Completions gives what its busy polling finds, without arming", async () => {
  const steps: string[] = [];
  const completions = completionsOf({
    busyPoll: new BusyPoll(1000),
    read: () => (steps.push("read"), Number(steps.length === 5)),
    arm: () => void steps.push("arm"),
  });
  assertEquals((await completions.next()).value, COMPLETION);
  assertEquals(steps.length, 5);
});

Deno.test("Completions ends with the error of its source, and gives nothing after it", async () => {
  const error = new Error("gone");
  const completions = completionsOf({
    read: () => {
      throw error;
    },
  });
  assertEquals(await completions.next().catch((reason) => reason), error);
  assertEquals(await completions.next(), { value: undefined, done: true });
});

Deno.test("Completions rejects with the signal's reason at the next step after it aborts", async () => {
  const controller = new AbortController();
  const completions = completionsOf({ signal: controller.signal });
  assertEquals((await completions.next()).done, false);
  const reason = new Error("enough");
  controller.abort(reason);
  assertEquals(await completions.next().catch((error) => error), reason);
  assertEquals((await completions.next()).done, true);
});

Deno.test("Completions.next() called while other steps wait does not overtake them", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const found: WorkCompletion[] = [];
  const completions = completionsOf({
    read: () => found.length,
    take: () => found.shift()!,
    wait: () => promise,
  });
  const steps = [completions.next(), completions.next()];
  await new Promise((done) => setTimeout(done));
  const all = [1n, 2n, 3n].map((wrId) => ({ wrId })) as WorkCompletion[];
  found.push(...all);
  steps.push(completions.next());
  resolve();
  assertEquals((await Promise.all(steps)).map(({ value }) => value), all);
});

Deno.test("Completions.return() ends the iteration", async () => {
  const [one, two, three] = Array.from({ length: 3 }, () => completionsOf({}));
  assertEquals(await one!.return(), { value: undefined, done: true });
  await two![Symbol.asyncDispose]();
  const error = new Error("no more");
  assertEquals(await three!.throw(error).catch((reason) => reason), error);
  for (const ended of [one!, two!, three!]) {
    assertEquals(await ended.next(), { value: undefined, done: true });
  }
});

Deno.test("Completions ends before what is asked for after return() or throw()", async () => {
  for (const isBusy of [false, true]) {
    for (const end of ["return", "throw"] as const) {
      const completions = completionsOf({});
      const before = isBusy ? [completions.next()] : [];
      const ended = completions[end](new Error("enough")).catch(() => {});
      const after = completions.next();
      assertEquals((await Promise.all(before)).map(({ done }) => done), before.map(() => false));
      await ended;
      assertEquals((await after).done, true, `${end} ${isBusy}`);
    }
  }
});
