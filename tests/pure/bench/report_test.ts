// What the programs of perftest say, and what a run looks like in bench/RESULTS.md.

import { assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { parseCmtime } from "../../../bench/guest/cmtime.ts";
import { parsePerftest, type Test } from "../../../bench/guest/perftest.ts";
import type { Result } from "../../../bench/measurement.ts";
import { SUMMARY } from "../../../bench/plot.ts";
import { ROWS } from "../../../bench/rows/all.ts";
import type { Row } from "../../../bench/rows/types.ts";
import { between, markdown } from "../../../bench/page.ts";
import type { Run } from "../../../bench/record.ts";
import { digits, duration, table } from "../../../bench/table.ts";

const BEGIN = "<!-- results: written by deno task bench -->";
const END = "<!-- end of results -->";

Deno.test("between() replaces what stands between the markers, and nothing else", () => {
  const text = `before\n${BEGIN}\nold\n${END}\nafter`;
  assertEquals(between(text, "new"), `before\n${BEGIN}\n\nnew\n\n${END}\nafter`);
  assertEquals(between(between(text, "other"), "new"), between(text, "new"));
});

Deno.test("between() throws when a marker is missing", () => {
  for (const text of [`before ${BEGIN}`, `${END} ${BEGIN}`]) {
    assertThrows(() => between(text, "new"), Error, "the page lacks");
  }
});

/** Rounds of the row "ud_list", whose goal is 1.1 times C. */
function result(times: number): Result {
  const rounds = [1, 2, 3, 4, 5, 6].map((c) => ({
    C: { value: c, lost: c === 1 ? 2 : 0 },
    Deno: { value: c * times },
    pyverbs: { value: 100 * c },
  }));
  return { id: "ud_list", rounds };
}

function run(times: number): Run {
  return {
    ...{ date: "2026-01-02T03:04:05Z", commit: "abc", confidence: 0.95 },
    stages: {
      rxe: {
        method: { rounds: 6, milliseconds: 1, parts: 1, patience: 1, fresh: true },
        environment: {
          ...{ kernel: "6.1", rdmaCore: "44", deno: "2", v8: "13", processor: "P", cores: 2 },
          accelerator: "none",
        },
        seconds: 60,
      },
    },
    results: [result(times)],
  };
}

Deno.test("markdown() shows misses beside hits, and counts lost messages", () => {
  assertMatch(markdown(run(8)), /at most 1.1 x C +8 \[8, 8\] x +MISSED/);
  assertStringIncludes(markdown(run(8)), "Goals: 0 met, 1 missed, 0 within noise, 0 shown.");
  assertMatch(markdown(run(1)), /at most 1.1 x C +1 \[1, 1\] x +MET/);
  assertStringIncludes(markdown(run(8)), "ud_list, for types/work/native_list.ts; C: 2 lost");
});

Deno.test("markdown() shows what was missed with two designs, and why, and does not judge it", () => {
  const page = markdown({ ...run(8), results: [{ ...result(8), id: "make_ah" }] });
  assertMatch(page, /at most 1.2 x C +8 \[8, 8\] x +SHOWN/);
  assertStringIncludes(page, "0 missed, 0 within noise, 1 shown.");
  assertStringIncludes(page, "the emulated processor slows compiled JavaScript");
});

Deno.test("table() shows each contender's ratio to C with its interval", () => {
  const lines = table([result(8)]).split("\n");
  assertStringIncludes(lines[1]!, "MISSED");
  for (const words of ["Deno", "8 [8, 8]"]) assertStringIncludes(lines[2]!, words);
});

Deno.test("duration() and digits() keep three digits", () => {
  assertEquals([0.1234, 12.34, 1234, 1.234e6, 1.234e9].map(duration), [
    ...["0.123 ns", "12.3 ns", "1.23 us", "1.23 ms", "1.23 s"],
  ]);
  assertEquals(digits(1234.5), "1235");
});

const LATENCY: Test = { size: 64, count: 1000 };

Deno.test("parsePerftest() gives the nanoseconds of a message", () => {
  const latency = ` #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]
 64      1000          20.05          95.38        21.55              21.80
---
`;
  assertEquals(Math.round(parsePerftest(LATENCY, latency)), 21_550);
  // The program has no clock.
  assertEquals(parsePerftest(LATENCY, " 64  1000  -nan  -nan  -nan  -nan\n"), NaN);
});

Deno.test("parsePerftest() throws if the program did not finish", () => {
  assertThrows(() => parsePerftest(LATENCY, "Couldn't connect\n"), Error, "Couldn't connect");
  assertThrows(() => parsePerftest(LATENCY, " 64  999  1  2  3  4\n"), Error, "Cannot measure");
});

Deno.test("parseCmtime() gives the nanoseconds of a connection, if none was rejected", () => {
  const output = "create qp    :        7.31       2.89     159.00     365.50\n" +
    "connect      :       80.72      72.67   29909.00    4035.80\n";
  assertEquals(parseCmtime(output), 4_035_800);
  for (const wrong of [`event: RDMA_CM_EVENT_REJECTED, error: 8\n${output}`, "connecting\n"]) {
    assertThrows(() => parseCmtime(wrong), Error, "cmtime said");
  }
});

Deno.test("the README is short, and its chart has eight rows that C and Deno have", () => {
  const readme = Deno.readTextFileSync(new URL("../../../README.md", import.meta.url));
  assertEquals(readme.split("\n").length <= 150, true);
  const isDrawn = ({ entries }: Row): boolean =>
    ["C", "Deno"].every((who) => entries.some((entry) => entry.who === who));
  assertEquals(
    SUMMARY.map((id) => ROWS.some((row) => row.id === id && isDrawn(row))),
    Array(8).fill(true),
  );
});

Deno.test("each row judges a design: a file that there is", () => {
  assertEquals(ROWS.length >= 20, true);
  for (const { id, decision } of ROWS) {
    const { isFile } = Deno.statSync(new URL(`../../../${decision}`, import.meta.url));
    assertEquals(isFile, true, id);
  }
});
