// The soak run: what it counts, and what it takes for a leak.
import { assertEquals } from "@std/assert";
import { isMessage, Ledger, WORDS, writeMessage } from "../../../tools/soak/guest/ledger.ts";
import { goals, intervalOf, planOf } from "../../../tools/soak/plan.ts";
import type { Outcome, Sample, SoakRecord } from "../../../tools/soak/record.ts";
import { faults, LIMITS } from "../../../tools/soak/verdict.ts";

const HOUR = planOf(3600, false);
const MINUTE = planOf(60, true);
const SAMPLE: Omit<Sample, "seconds"> = {
  resident: 100e6,
  heap: 10e6,
  kernelObjects: 39,
  stubObjects: 24,
  kernelMemory: 13e6,
  descriptors: 46,
  threads: 7,
};
/** What the record of a run without faults has. */
const OUTCOME: Omit<Outcome, "counts"> = {
  seconds: 3600,
  processorSeconds: 1800,
  messages: { sent: 12, delivered: 10, refused: 2, lost: 0, twice: 0, changed: 0 },
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
  return { plan, outcome: { counts: goals(plan), ...OUTCOME, ...outcome }, samples };
}

for (const plan of [HOUR, MINUTE]) {
  Deno.test(`faults() finds each count below 80 % of the plan of ${plan.seconds} s`, () => {
    const enough = Object.fromEntries(
      Object.entries(goals(plan)).map(([name, goal]) => [name, Math.ceil(0.8 * goal)]),
    );
    const found = (counts: Record<string, number>): string[] =>
      faults(record({ counts }, undefined, plan));
    assertEquals(found(enough), []);
    for (const [name, goal] of Object.entries(goals(plan))) {
      const { [name]: least, ...others } = enough;
      assertEquals(found(others), [`${name}: 0 of ${goal} in the plan`]);
      assertEquals(found({ ...others, [name]: least! - 1 }).length, 1, name);
    }
    assertEquals(found({}).length, Object.keys(goals(plan)).length);
  });
}

const { messages } = OUTCOME;
const FAULTS: readonly [fault: string, record: SoakRecord][] = [
  ["0 samples are too few to see growth", { ...record(), samples: [] }],
  ["3 messages lost", record({ messages: { ...messages, lost: 3, delivered: 7 } })],
  ["3 messages twice", record({ messages: { ...messages, twice: 3 } })],
  ["3 messages changed", record({ messages: { ...messages, changed: 3 } })],
  ["1 messages have no known end", record({ messages: { ...messages, sent: 13 } })],
  ["a call failed", record({ failures: ["a call failed"] })],
  ["rxe0 has 2 qp, 1 before the run", record({ after: { rxe0: { qp: 2, cq: 1 } } })],
  ["rxe1 has 1 pd, 0 before the run", record({ after: { ...OUTCOME.before, rxe1: { pd: 1 } } })],
];

for (const [fault, record] of FAULTS) {
  Deno.test(`faults() finds that ${fault}`, () => assertEquals(faults(record), [fault]));
}

Deno.test("faults() leaves out the warm-up and what comes and goes", () => {
  assertEquals(faults(record({}, (i) => i < 8 ? { heap: 0 } : {})), []);
  assertEquals(faults(record({}, (i) => i === 39 ? {} : { heap: 10e6 + i * 1e6 })), []);
});

for (const [name, { title, growth, early = growth }] of Object.entries(LIMITS)) {
  Deno.test(`faults() finds growth of ${title}`, () => {
    for (const [plan, limit] of [[HOUR, growth], [MINUTE, early]] as const) {
      const grown = (by: number): string[] => {
        const last = { [name]: SAMPLE[name as keyof typeof SAMPLE] + by };
        return faults(record({}, (i) => i < 20 ? {} : last, plan));
      };
      assertEquals(grown(limit), []);
      assertEquals(grown(limit + 1).map((fault) => fault.split(":")[0]), [title]);
    }
  });
}

Deno.test("Ledger counts each message once, by how it ended", () => {
  const ledger = new Ledger();
  const [a, b, c, d, e] = Array.from({ length: 6 }, () => ledger.send());
  for (let i = 0; i < 2; i++) ledger.deliver(a!, true);
  ledger.refuse(b!);
  ledger.giveUp(c!);
  ledger.deliver(d!, false);
  ledger.giveUp(a!);
  // It comes after it was given up.
  ledger.giveUp(e!);
  ledger.deliver(e!, true);
  const { sent, delivered, refused, lost, twice, changed } = ledger.counts;
  assertEquals([sent, delivered, refused, twice, changed], [6, 2, 1, 2, 1]);
  assertEquals(lost, 3, "two were given up, one is on its way");
});

Deno.test("isMessage() finds each word that is changed", () => {
  const words = new Uint32Array(2 * WORDS);
  writeMessage(words, WORDS, 123_456_789);
  assertEquals([words[WORDS], isMessage(words, WORDS)], [123_456_789, true]);
  for (let i = 0; i < WORDS; i++) {
    words[WORDS + i]! ^= 1;
    assertEquals(isMessage(words, WORDS), false, `word ${i}`);
    words[WORDS + i]! ^= 1;
  }
});

Deno.test("intervalOf() gives each quarter of a run some samples", () => {
  for (const seconds of [60, 120, 300, 3600, 36000]) {
    assertEquals(seconds / intervalOf(seconds) >= 30, true, `${seconds} s`);
  }
});
