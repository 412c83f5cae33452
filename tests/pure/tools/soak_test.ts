// The soak run: what it counts, and what it takes for a leak.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { isMessage, Ledger, SIZE, WORDS, writeMessage } from "../../../tools/soak/guest/ledger.ts";
import { paced } from "../../../tools/soak/guest/run.ts";
import { goals, intervalOf, planOf } from "../../../tools/soak/plan.ts";
import { plot } from "../../../tools/soak/plot.ts";
import type { Outcome, Sample, SoakRecord } from "../../../tools/soak/record.ts";
import { faults, LIMITS } from "../../../tools/soak/verdict.ts";

const HOUR = planOf(3600, false);
const MINUTE = planOf(60, true);
/** What the record of a run without faults has. */
const SAMPLE: Omit<Sample, "seconds"> = {
  resident: 100e6,
  heap: 10e6,
  kernelObjects: 39,
  stubObjects: 24,
  kernelMemory: 13e6,
  descriptors: 46,
  threads: 7,
};
const OUTCOME: Outcome = {
  seconds: 3600,
  processorSeconds: 1800,
  messages: { sent: 12, delivered: 10, refused: 2, lost: 0, twice: 0, changed: 0 },
  counts: goals(HOUR),
  failures: [],
  before: { rxe0: { qp: 1, cq: 1 } },
  after: { rxe0: { qp: 1, cq: 1 } },
};

/** A run of 40 samples. The samples are changed by their place. */
function record(
  outcome: Partial<Outcome> = {},
  change: (place: number) => Partial<Sample> = () => ({}),
  plan = HOUR,
): SoakRecord {
  const samples = Array.from(
    { length: 40 },
    (_, i) => ({ seconds: 90 * (i + 1), ...SAMPLE, ...change(i) }),
  );
  return { plan, outcome: { ...OUTCOME, ...outcome }, samples };
}

/** Counts that are a share of the plan. */
function done(share: number, plan = HOUR): Record<string, number> {
  return Object.fromEntries(
    Object.entries(goals(plan)).map(([name, goal]) => [name, Math.ceil(share * goal)]),
  );
}

Deno.test("faults() finds nothing when a run did and held what it must", () => {
  assertEquals(faults(record()), []);
  assertEquals(faults(record({ counts: done(0.8) })), []);
});

for (const plan of [HOUR, MINUTE]) {
  Deno.test(`faults() finds each count below the plan of ${plan.seconds} s`, () => {
    const names = Object.keys(goals(plan));
    for (const name of names) {
      const { [name]: _, ...counts } = done(1, plan);
      const goal = goals(plan)[name];
      assertEquals(faults(record({ counts }, undefined, plan)), [
        `${name}: 0 of ${goal} in the plan`,
      ]);
      const few = { ...done(1, plan), [name]: Math.ceil(0.8 * goal!) - 1 };
      assertEquals(faults(record({ counts: few }, undefined, plan)).length, 1, name);
    }
    assertEquals(faults(record({ counts: {} }, undefined, plan)).length, names.length);
  });
}

Deno.test("faults() leaves out the warm-up and what comes and goes", () => {
  assertEquals(faults(record({}, (i) => i < 8 ? { heap: 0 } : {})), []);
  assertEquals(faults(record({}, (i) => i === 39 ? {} : { heap: 10e6 + i * 1e6 })), []);
});

Deno.test("faults() finds a run without samples", () => {
  assertEquals(faults({ ...record(), samples: [] }), ["0 samples are too few to see growth"]);
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

for (const [name, { title, growth, early = growth }] of Object.entries(LIMITS)) {
  Deno.test(`faults() finds growth of ${title}`, () => {
    for (const [plan, limit] of [[HOUR, growth], [MINUTE, early]] as const) {
      const growing = (by: number): SoakRecord =>
        record(
          { counts: done(1, plan) },
          (i) => i < 20 ? {} : { [name]: SAMPLE[name as keyof typeof SAMPLE] + by },
          plan,
        );
      assertEquals(faults(growing(limit)), []);
      const found = faults(growing(limit + 1));
      assertEquals(found.length, 1);
      assertStringIncludes(found[0]!, `${title}: from `);
      assertStringIncludes(plot(growing(limit + 1)), found[0]!);
    }
  });
}

Deno.test("faults() finds kernel objects and devices that are left", () => {
  const after = { rxe0: { qp: 2, cq: 1 }, rxe1: { pd: 1 } };
  assertEquals(faults(record({ after })), [
    "rxe0 has 2 qp, 1 before the run",
    "rxe1 has 1 pd, 0 before the run",
  ]);
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

Deno.test("paced() makes steps until the signal aborts", async () => {
  const stop = new AbortController();
  let steps = 0;
  await paced(1e6, 8, stop.signal, () => {
    if (++steps === 5) stop.abort();
  });
  assertEquals(steps, 5);
});

Deno.test("intervalOf() gives each quarter of a run some samples", () => {
  for (const seconds of [60, 120, 300, 3600, 36000]) {
    assertEquals(seconds / intervalOf(seconds) >= 30, true, `${seconds} s`);
  }
});
