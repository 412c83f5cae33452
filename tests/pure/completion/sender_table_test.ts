import { assertEquals, assertStrictEquals } from "@std/assert";
import { SenderTable } from "../../../types/completion/sender_table.ts";
import { SendTracker } from "../../../types/completion/send_tracker.ts";

const FAMILIES: [string, (i: number) => number][] = [
  ["follow each other", (i) => i],
  ["are multiples of 4096", (i) => i * 4096 & 0xff_ffff],
  ["are the largest", (i) => 0xff_ffff - i],
];

for (const [what, numberOf] of FAMILIES) {
  Deno.test(`SenderTable does as a Map when queue pair numbers ${what}`, () => {
    const table = new SenderTable();
    const model = new Map<number, SendTracker>();
    let state = 1;
    for (let step = 0; step < 20_000; step++) {
      state = Math.imul(state, 1_103_515_245) + 12_345 >>> 0;
      const qpNum = numberOf((state >>> 8) % 400);
      // It grows, shrinks and grows again.
      if ((state >>> 24 & 3) > (step >> 11 & 1)) {
        const tracker = new SendTracker();
        table.set(qpNum, tracker);
        model.set(qpNum, tracker);
      } else {
        table.delete(qpNum);
        model.delete(qpNum);
      }
      assertEquals(table.size, model.size);
      const other = numberOf((state >>> 4) % 400);
      assertStrictEquals(table.get(other), model.get(other));
    }
    for (let i = 0; i < 400; i++) {
      assertStrictEquals(table.get(numberOf(i)), model.get(numberOf(i)));
    }
  });
}

Deno.test("SenderTable.get() finds nothing for numbers that no queue pair has", () => {
  const table = new SenderTable();
  for (let i = 0; i < 100; i++) table.set(i, new SendTracker());
  for (const qpNum of [100, 0x100_0000, 0xffff_ffff]) assertEquals(table.get(qpNum), undefined);
});
