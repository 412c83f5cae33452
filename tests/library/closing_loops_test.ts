// Closing what a loop goes over ends the loop, whichever loop it is.
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { CmEventType, CmId, EventChannel } from "../../cm.ts";
import {
  CompletionChannel,
  CompletionQueue,
  CompletionQueueEx,
  EventType,
  type Resource,
} from "../../mod.ts";
import * as recorder from "../provider/recorder.ts";
import { type FakeBed, test } from "./cm/fake.ts";

/** Something to loop over. */
interface Source {
  /** What is closed. */
  readonly over: Resource;
  /** What it was made from: closing that closes it. */
  readonly parent?: Resource;
  readonly loop: (signal?: AbortSignal) => AsyncIterable<unknown>;
  /** Makes something come. */
  readonly send: () => void;
}

const SOURCES: Readonly<Record<string, (bed: FakeBed) => Source>> = {
  "CompletionQueue.completions()": ({ context }) =>
    completionsOf(new CompletionQueue(context, { cqe: 8 })),
  "CompletionQueueEx.completions()": ({ context }) =>
    completionsOf(new CompletionQueueEx(context, { cqe: 8 })),
  "Context.events()": ({ context }) => ({
    over: context,
    loop: (signal) => context.events({ signal }),
    send: () => recorder.sendAsyncEvent(EventType.PORT_ERR, 1),
  }),
  "EventChannel.events()": ({ net }) => {
    const channel = new EventChannel();
    const id = new CmId(channel);
    return {
      over: channel,
      loop: (signal) => channel.events({ signal }),
      send: () => net.push(id, CmEventType.ADDR_CHANGE),
    };
  },
};

function completionsOf(cq: CompletionQueue): Source {
  return {
    over: cq,
    parent: cq.channel!,
    loop: (signal) => cq.completions({ signal }),
    send: () => recorder.complete("cq0", { wr_id: 1n }),
  };
}

async function countOf(
  loop: AsyncIterable<unknown>,
  onEach: () => void = () => {},
): Promise<number> {
  let count = 0;
  for await (const _ of loop) {
    count++;
    onEach();
  }
  return count;
}

function asleep(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}

for (const [name, sourceOf] of Object.entries(SOURCES)) {
  test(`A loop over ${name} that sleeps ends when it is closed`, async (bed) => {
    const { over, loop } = sourceOf(bed);
    const counts = [countOf(loop()), countOf(loop())];
    await asleep();
    over.close();
    assertEquals(await Promise.all(counts), [0, 0]);
  });

  test(`A loop over ${name} ends when its own body closes it`, async (bed) => {
    const { over, loop, send } = sourceOf(bed);
    const count = countOf(loop(), () => over.close());
    send();
    send();
    assertEquals(await count, 1);
  });

  test(`A loop over ${name} ends with the block that has it by using`, async (bed) => {
    const { over, loop, send } = sourceOf(bed);
    const { promise: isRead, resolve } = Promise.withResolvers<void>();
    let count;
    {
      using _over = over;
      send();
      count = countOf(loop(), resolve);
      await isRead;
    }
    assertEquals(await count, 1);
  });

  test(`A loop over ${name} ends with what it was made from`, async (bed) => {
    const { over, parent = over, loop } = sourceOf(bed);
    const count = countOf(loop());
    await asleep();
    parent.close();
    assertEquals(await count, 0);
  });

  test(`A loop over ${name} throws the reason of a signal that aborts before it is closed`, async (bed) => {
    const { over, loop } = sourceOf(bed);
    const abort = new AbortController();
    const ended = assertRejects(() => countOf(loop(abort.signal)), Error, "enough");
    await asleep();
    abort.abort(new Error("enough"));
    over.close();
    await ended;
  });

  test(`A loop over ${name} is refused when it is closed`, (bed) => {
    const { over, loop } = sourceOf(bed);
    over.close();
    assertThrows(() => loop(), TypeError, "it is disposed");
    return Promise.resolve();
  });
}

test("A loop over Context.eventsSync() ends when its own body closes the context", ({ context }) => {
  const types = [];
  recorder.sendAsyncEvent(EventType.PORT_ERR, 1);
  recorder.sendAsyncEvent(EventType.PORT_ACTIVE, 1);
  for (const { eventType } of context.eventsSync({ timeout: 10_000 })) {
    types.push(eventType);
    context.close();
  }
  assertEquals(types, [EventType.PORT_ERR]);
  return Promise.resolve();
});

test("ref() and unref() of what gives events are refused when it is closed", ({ context }) => {
  const cq = new CompletionQueue(context, { cqe: 4 });
  const sources = [new EventChannel(), new CompletionChannel(context), cq, context];
  for (const source of sources) source.ref();
  for (const source of sources) {
    source.close();
    assertThrows(() => source.ref(), TypeError, "it is disposed");
    assertThrows(() => source.unref(), TypeError, "it is disposed");
  }
  return Promise.resolve();
});
