// What a run looks like in bench/RESULTS.md and in the README.

import { assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { callsTable } from "../../../bench/calls.ts";
import type { Result } from "../../../bench/measurement.ts";
import { markdown, withSummary } from "../../../bench/record.ts";
import { ROWS, SUMMARY, withOld } from "../../../bench/rows.ts";
import { digits, duration, table } from "../../../bench/table.ts";

/** Rounds of a row whose goal is 1.15 times C. */
function result(times: number, id = "rc_send_lat"): Result {
  const rounds = [1, 2, 3, 4, 5, 6].map((c) => ({
    C: { value: c, p99: 2 * c, processor: 3 * c },
    Deno: { value: c * times },
    pyverbs: { value: 100 * c },
    "C, no events": { value: c },
  }));
  return { id, rounds };
}

function page(...results: readonly Result[]): string {
  return markdown("abc", new Map([["Stage", { conditions: "A machine.", results }]]));
}

Deno.test("markdown() shows misses beside hits", () => {
  assertMatch(page(result(8)), /at most 1.15 x C +8 \[8, 8\] x +MISSED/);
  assertStringIncludes(page(result(8)), "Goals: 0 met, 1 missed, 0 within noise, 0 shown.");
  assertMatch(page(result(1)), /at most 1.15 x C +1 \[1, 1\] x +MET/);
  assertStringIncludes(page(result(8)), "## Stage\n\nA machine.\n");
});

Deno.test("markdown() shows what was missed with two designs, and why, and does not judge it", () => {
  const shown = page(result(8, "answer_32"));
  assertMatch(shown, /at most 3 x C +8 \[8, 8\] x +SHOWN/);
  assertStringIncludes(shown, "0 missed, 0 within noise, 1 shown.");
  assertStringIncludes(shown, "V8 checks the index of each field");
});

Deno.test("table() shows each contender's ratio to C with its interval, and what more it measured", () => {
  const [, ofC, ofDeno] = table([result(8)]).split("\n");
  assertMatch(ofC!, /C +3.5 ns +7 ns +10.5 ns/);
  assertMatch(ofDeno!, /Deno +28 ns +8 \[8, 8\]/);
});

Deno.test("table() compares with the old package where one was measured", () => {
  const rounds = result(8, "ud_round").rounds.map((round) => ({
    ...round,
    "Deno, old": round["C"]!,
  }));
  const shown = table([{ id: "ud_round", rounds }]);
  assertMatch(shown, /at most 1.05 x Deno, old +8 \[8, 8\] x +MISSED/);
});

Deno.test("withOld() is for the rows of posting and polling", () => {
  const rows = ROWS.filter(({ old }) => old);
  assertEquals(rows.map(({ id }) => id), [
    ...["poll_empty", "post_send", "changed", "answer_32", "answer_one", "ud_round"],
  ]);
  for (const row of rows) assertEquals(withOld(row).entries.at(-1)?.who, "Deno, old");
});

Deno.test("duration() and digits() keep three digits", () => {
  assertEquals([0.1234, 12.34, 1234, 1.234e6, 1.234e9].map(duration), [
    ...["0.123 ns", "12.3 ns", "1.23 us", "1.23 ms", "1.23 s"],
  ]);
  assertEquals(digits(1234.5), "1235");
});

Deno.test("withSummary() puts rows of the README that were measured into it, and nothing else", () => {
  const place = "<!-- speed: written by deno task bench -->\n\n| old |\n| old |\n\nafter";
  const readme = withSummary(`before\n${place}`, [result(8), result(8, "net_call")]);
  assertStringIncludes(readme, "polling, a round trip | 3.5 ns | 28 ns | 350 ns |\n\nafter");
  assertEquals(readme.match(/^\|/gm)?.length, 3);
  assertThrows(() => withSummary("before", []), Error, "README.md lacks their place");
});

Deno.test("callsTable() tells threads that are woken from other calls, for one message", () => {
  const log = `7 futex(0x1, FUTEX_WAIT_PRIVATE, 0, NULL <unfinished ...>
8 futex(0x1, FUTEX_WAKE_PRIVATE, 1) = 1
7 <... futex resumed>)              = 0
8 futex(0x1, FUTEX_WAKE_PRIVATE, 1) = 0
8 write(5<anon_inode:[eventfd]>, "\\1\\0\\0\\0\\0\\0\\0\\0", 8) = 8
8 write(1<pipe:[3]>, "ready\\n", 6)   = 6
7 ppoll([{fd=9<anon_inode:[infinibandevent]>, events=POLLIN}], 1, NULL, NULL, 8) = 1
`;
  const numbers = callsTable("Deno", [log, ""], 2).split("\n").slice(1).map((line) =>
    line.slice(28)
  );
  assertEquals(numbers.map((line) => line.trim().split(/ +/).map(Number)), [
    [0.5, 0], // threads woken by futex
    [0.5, 0], // writes to an eventfd
    [1.5, 0], // futex, all
    [0.5, 0], // poll, epoll_wait
    [1, 0], // read, write, ioctl
    [3, 0], // all calls
  ]);
});

Deno.test("the README is short, and its table has eight rows that C, Deno and pyverbs have", () => {
  const readme = Deno.readTextFileSync(new URL("../../../README.md", import.meta.url));
  assertStringIncludes(readme, "<!-- speed: written by deno task bench -->\n\n|");
  assertEquals(readme.split("\n").length <= 150, true);
  const drawn = ROWS.filter(({ id, entries }) =>
    SUMMARY.includes(id) &&
    ["C", "Deno", "pyverbs"].every((who) => entries.some((entry) => entry.who === who))
  );
  assertEquals(drawn.length, 8);
});

Deno.test("each row judges a design: a file that there is", () => {
  for (const { id, note } of ROWS) {
    const { isFile } = Deno.statSync(new URL(`../../../${note.split(";")[0]}`, import.meta.url));
    assertEquals(isFile, true, id);
  }
});
