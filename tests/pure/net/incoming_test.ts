// Those who wait for something of the peer: who gets what, and when it is polled for.
import { assertEquals, assertRejects } from "@std/assert";
import { Incoming } from "../../../wait/incoming.ts";

/** Messages that come while somebody polls for them, one at a time, or when a test says so. */
class Bed {
  readonly log: string[] = [];
  readonly there: number[] = [];
  /** What comes while somebody polls. */
  readonly later: number[] = [];
  hasEnded = false;
  readonly incoming: Incoming<{ readonly name: string }, number> = new Incoming({
    size: () => this.there.length,
    take: ({ name }) => {
      if (name === "bad") throw new RangeError("bad");
      return this.there.shift()!;
    },
    hasEnded: () => this.hasEnded,
    drain: () => this.log.push("drain"),
    spin: () => {
      this.log.push("spin");
      this.there.push(...this.later.splice(0, 1));
      this.incoming.serve();
    },
    update: () => this.log.push("update"),
  });

  receive(name: string, signal?: AbortSignal): Promise<number | null> {
    return this.incoming.receive({ name }, signal);
  }

  arrive(message: number): void {
    this.there.push(message);
    this.incoming.serve();
  }
}

Deno.test("Incoming gives what is there without polling", async () => {
  const bed = new Bed();
  bed.there.push(1);
  assertEquals(await bed.receive("a"), 1);
  assertEquals(bed.log, []);
});

Deno.test("Incoming polls after what the caller begins next", async () => {
  const bed = new Bed();
  bed.later.push(1);
  const received = bed.receive("a");
  bed.log.push("begun");
  assertEquals(await received, 1);
  assertEquals(bed.log, ["drain", "begun", "spin"]);
});

Deno.test("Incoming serves those who wait in the order of their calls, be it that the first one polls in vain", async () => {
  for (const later of [[], [1]]) {
    const bed = new Bed();
    bed.later.push(...later);
    const received = Promise.all(["a", "b", "c"].map((name) => bed.receive(name)));
    await undefined;
    await undefined;
    for (const message of [1, 2, 3].slice(later.length)) bed.arrive(message);
    assertEquals(await received, [1, 2, 3]);
  }
});

Deno.test("Incoming serves the others when the one that polls gets an error, or its signal aborts", async () => {
  const bed = new Bed();
  bed.later.push(1);
  const bad = assertRejects(() => bed.receive("bad"), RangeError);
  assertEquals(await bed.receive("b"), 1);
  await bad;
  const controller = new AbortController();
  const aborted = assertRejects(() => bed.receive("c", controller.signal), Error, "enough");
  const other = bed.receive("d");
  controller.abort(new Error("enough"));
  await aborted;
  bed.arrive(2);
  assertEquals(await other, 2);
});

Deno.test("Incoming rejects all who wait, also the one that polls, unless there is something for it", async () => {
  for (const there of [[], [1]]) {
    const bed = new Bed();
    bed.later.push(2);
    const calls = Promise.allSettled(["a", "b"].map((name) => bed.receive(name)));
    bed.there.push(...there);
    const reason = new Error("closed");
    bed.incoming.rejectAll(reason);
    const rejected = { status: "rejected", reason };
    const first = there.length === 0 ? rejected : { status: "fulfilled", value: 1 };
    assertEquals(await calls, [first, rejected] as never);
    assertEquals(await bed.receive("c"), 2);
  }
});

Deno.test("Incoming ends when the peer sends none any more, after what was received", async () => {
  const bed = new Bed();
  bed.there.push(1);
  bed.hasEnded = true;
  assertEquals([await bed.receive("a"), await bed.receive("b")], [1, null]);
  assertEquals(bed.incoming.isAwaited, false);
});
