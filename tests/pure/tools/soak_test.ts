// The soak run: what it counts, and what it takes for a leak.
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { isMessage, Ledger, SIZE, WORDS, writeMessage } from "../../../tools/soak/guest/ledger.ts";
import { paced } from "../../../tools/soak/guest/pace.ts";
import { Lines } from "../../../tools/soak/lines.ts";
import { intervalOf, RATES } from "../../../tools/soak/plan.ts";
import { plot } from "../../../tools/soak/plot.ts";
import type { Outcome, Sample, SoakRecord } from "../../../tools/soak/record.ts";
import { faults, flatness, type Limit, LIMITS } from "../../../tools/soak/verdict.ts";

const LIMIT: Limit = {
  name: "descriptors",
  title: "descriptors",
  unit: "count",
  growth: 2,
  reason: "a test",
};
/** What the record of a run without faults has. */
const SAMPLE: Omit<Sample, "seconds"> = {
  resident: 100e6,
  heap: 10e6,
  kernelObjects: 39,
  stubObjects: 24,
  kernelMemory: 13e6,
  descriptors: 46,
  threads: 7,
  done: { messages: 0, ahs: 0, tables: 0 },
};
const OUTCOME: Outcome = {
  seconds: 3600,
  processorSeconds: 1800,
  messages: { sent: 12, delivered: 10, refused: 2, lost: 0, twice: 0, changed: 0 },
  counts: { ahs: 5, tables: 6 },
  failures: [],
  before: { rxe0: { qp: 1, cq: 1 } },
  after: { rxe0: { qp: 1, cq: 1 } },
};

/** A run of 40 samples. The samples are changed by their place. */
function record(
  outcome: Partial<Outcome> = {},
  change: (place: number) => Partial<Sample> = () => ({}),
): SoakRecord {
  const samples = Array.from(
    { length: 40 },
    (_, i) => ({ seconds: 90 * (i + 1), ...SAMPLE, ...change(i) }),
  );
  return { minutes: 60, rates: RATES, outcome: { ...OUTCOME, ...outcome }, samples };
}

Deno.test("flatness() leaves out the warm-up", () => {
  const values = [0, 0, 0, 0, ...new Array<number>(36).fill(50)];
  assertEquals(flatness(values, LIMIT, 60), { limit: LIMIT, first: 50, last: 50, flat: true });
});

Deno.test("flatness() compares medians: single values do not count", () => {
  const values = new Array<number>(40).fill(50);
  values[38] = values[39] = 1000;
  assertEquals(flatness(values, LIMIT, 60).last, 50);
});

Deno.test("flatness() allows the growth of the limit, and no more", () => {
  const verdict = (last: number): boolean | undefined =>
    flatness([...new Array<number>(20).fill(50), ...new Array<number>(20).fill(last)], LIMIT, 60)
      .flat;
  assertEquals([verdict(52), verdict(53), verdict(10)], [true, false, true]);
});

Deno.test("flatness() does not judge runs that are too short for the limit", () => {
  const values = Array.from({ length: 40 }, (_, i) => i);
  const limit = { ...LIMIT, minutes: 20 };
  assertEquals(flatness(values, limit, 19).flat, undefined);
  assertEquals(flatness(values, limit, 20).flat, false);
});

Deno.test("flatness() throws RangeError when there are too few samples", () => {
  assertThrows(() => flatness([1, 2, 3, 4, 5, 6, 7], LIMIT, 60), RangeError, "there are 7 samples");
});

Deno.test("faults() finds nothing when a run holds what it must", () => {
  assertEquals(faults(record()), []);
});

for (const name of ["lost", "twice", "changed"] as const) {
  Deno.test(`faults() finds messages that are ${name}`, () => {
    const messages = { ...OUTCOME.messages, [name]: 3 };
    if (name === "lost") messages.delivered -= 3;
    assertEquals(faults(record({ messages })), [`3 messages ${name}`]);
  });
}

Deno.test("faults() finds messages without a known end", () => {
  const messages = { ...OUTCOME.messages, sent: 13 };
  assertEquals(faults(record({ messages })), ["1 messages have no known end"]);
});

Deno.test("faults() lists the calls that failed", () => {
  assertEquals(faults(record({ failures: ["a call failed"] })), ["a call failed"]);
});

for (const { name, title, growth } of LIMITS) {
  Deno.test(`faults() finds growth of ${title}`, () => {
    const growing = record({}, (i) => ({ [name]: SAMPLE[name] + i * growth / 20 }));
    const found = faults(growing);
    assertEquals(found.length, 1);
    assertStringIncludes(found[0]!, `${title}: from `);
    assertStringIncludes(plot(growing), "grows");
  });
}

Deno.test("faults() finds kernel objects and devices that are left", () => {
  const after = { rxe0: { qp: 2, cq: 1 }, rxe1: { pd: 1 } };
  assertEquals(faults(record({ after })), [
    "rxe0 has 2 qp, 1 before the run",
    "rxe1 has 1 pd, 0 before the run",
  ]);
});

Deno.test("plot() draws each series and its verdict", () => {
  const drawn = plot(record());
  for (const { title } of LIMITS) assertStringIncludes(drawn, `>${title}</text>`);
  assertEquals(drawn.match(/: flat \(limit/g)?.length, LIMITS.length);
  assertStringIncludes(drawn, "prefers-color-scheme: dark");
});

Deno.test("Ledger counts each message once, by how it ended", () => {
  const ledger = new Ledger();
  const numbers = Array.from({ length: 6 }, () => ledger.send());
  ledger.deliver(numbers[0]!, true);
  ledger.deliver(numbers[0]!, true);
  ledger.refuse(numbers[1]!);
  ledger.giveUp(numbers[2]!);
  ledger.deliver(numbers[3]!, false);
  ledger.giveUp(numbers[0]!);
  const { sent, delivered, refused, lost, twice, changed } = ledger.counts;
  assertEquals([sent, delivered, refused, twice, changed], [6, 2, 1, 1, 1]);
  assertEquals(lost, 3, "one was given up, two are on their way");
});

Deno.test("Ledger counts a message as twice if it comes after it was given up", () => {
  const ledger = new Ledger();
  const number = ledger.send();
  ledger.giveUp(number);
  ledger.deliver(number, true);
  assertEquals([ledger.counts.lost, ledger.counts.twice], [1, 1]);
});

Deno.test("isMessage() finds each word that is changed", () => {
  const words = new Uint32Array(2 * WORDS);
  writeMessage(words, WORDS, 123_456_789);
  assertEquals([words[WORDS], isMessage(words, WORDS), SIZE], [123_456_789, true, 4 * WORDS]);
  for (let i = 0; i < WORDS; i++) {
    words[WORDS + i]! ^= 1;
    assertEquals(isMessage(words, WORDS), false, `word ${i}`);
    words[WORDS + i]! ^= 1;
  }
});

Deno.test("paced() makes bursts until the signal aborts, and none at rate 0", async () => {
  const stop = new AbortController();
  const bursts: number[] = [];
  await paced(1e6, 8, stop.signal, (count) => {
    if (bursts.push(count) === 5) stop.abort();
  });
  assertEquals(bursts, [8, 8, 8, 8, 8]);
  await paced(0, 8, new AbortController().signal, () => {
    throw new Error("there is nothing to do");
  });
});

Deno.test("Lines calls back with whole lines, however they are cut", async () => {
  const lines: string[] = [];
  const sink = new Lines((line) => lines.push(line));
  const bytes = new TextEncoder().encode("one\ntwö\nthr");
  for (const byte of bytes) assertEquals(await sink.write(Uint8Array.of(byte)), 1);
  assertEquals(lines, ["one", "twö"]);
});

Deno.test("intervalOf() gives each quarter of a run some samples", () => {
  for (const minutes of [1, 2, 5, 60, 600]) {
    assertEquals(minutes * 60 / intervalOf(minutes) >= 30, true, `${minutes} minutes`);
  }
});
