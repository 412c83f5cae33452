// What perf makes of its measurements, and the command lines that it refuses.

import { assertEquals, assertGreater, assertStringIncludes } from "@std/assert";
import { goalOf } from "../../perf/ends.ts";
import { latencyOf } from "../../perf/histogram.ts";
import { Meter } from "../../perf/measure.ts";
import type { Side } from "../../peer/endpoint.ts";
import { bandwidthOf, bandwidthText } from "../../perf/report.ts";
import { Progress } from "../../perf/progress.ts";
import { allSizes, chosenSettings } from "../../perf/settings.ts";
import { ran, recorder } from "./terminal.ts";

const HUNDRED = Float64Array.from({ length: 100 }, (_, i) => 100 - i);

Deno.test("latencyOf() counts each latency in one bar, and takes percentiles of the sorted ones", () => {
  const { count, min, max, mean, percentiles, bars } = latencyOf(HUNDRED);
  assertEquals([count, min, max, mean], [100, 1, 100, 50.5]);
  assertEquals(percentiles, { p50: 51, p90: 91, p99: 100, "p99.9": 100 });
  assertEquals(bars.reduce((sum, { count }) => sum + count, 0), 100);
  for (const { from, to, count } of bars) {
    const inside = HUNDRED.filter((value) => value >= from && value < to).length;
    assertEquals(count, inside);
  }
});

Deno.test("latencyOf() puts a few long latencies into the last bar, and equal ones into one", () => {
  const { bars, max } = latencyOf(Float64Array.of(...HUNDRED, ...HUNDRED, 1e6));
  const { to, count } = bars.at(-1)!;
  assertEquals([max, to, count], [1e6, 1e6, 1]);
  assertEquals(bars.reduce((sum, { count }) => sum + count, 0), 201);
  const equal = latencyOf(new Float64Array(10).fill(7));
  assertEquals(equal.bars.map(({ count }) => count), [10]);
});

Deno.test("bandwidthOf() counts from the first message to the last one, and names what is lost", () => {
  const bandwidth = bandwidthOf({ sent: 12, received: 11, microseconds: 1e6 }, 1000);
  assertEquals([bandwidth.messagesPerSecond, bandwidth.mbitPerSecond], [10, 0.08]);
  assertEquals(bandwidthText(bandwidth), "0.08 Mbit/s, 10 messages/s, 1 of 12 messages lost");
  for (const [received, microseconds] of [[0, 1], [1, 0], [1, 1], [2, 0]] as const) {
    assertEquals(bandwidthOf({ sent: 10, received, microseconds }, 1).mbitPerSecond, 0);
  }
});

/** A meter of a side that has only what a test needs. */
function meterOf(side: object, rxDepth = 1): Meter {
  const all = { queuePairs: 1, verb: "send", incoming: [], ...side } as unknown as Side;
  return new Meter(all, { rxDepth, timeout: 1000, show: () => {} });
}

Deno.test("allSizes() ends at a port's MTU for datagrams, and at 8 MB otherwise", () => {
  const settings = chosenSettings({});
  const sizes = allSizes({ ...settings, kind: "ud" }, 1024);
  assertEquals([sizes.slice(0, 3), sizes.length, sizes.at(-1)], [[2, 4, 8], 10, 1024]);
  assertEquals(allSizes(settings, 1024).at(-1), 0x80_0000);
});

Deno.test("Progress draws one line, not too often, and removes it", () => {
  let out = "";
  const shown = recorder({ write: (text) => out += text, size: () => ({ columns: 30, rows: 1 }) });
  {
    using progress = new Progress(shown.terminal);
    for (const count of [5, 6]) progress.show(chosenSettings({ verb: "read" }), "latency", count);
  }
  assertEquals(out, "\rread of 64 bytes, latency: 5 \x1b[K\r\x1b[K");
});

const refused: [line: string, message: string][] = [
  ["--size 100", "--size is for the client, and this is a server: there is no HOST"],
  ["--kind rd host", "--kind takes one of rc, uc, ud"],
  ["-n 9 host", "--iters takes a whole number from 10"],
  ["--mtu 1500 host", "--mtu takes 256, 512, 1024, 2048 or 4096"],
  ["one two", "there is one host at most"],
  ["-a", "--all is for the client, and this is a server: there is no HOST"],
  ["-D 5", "--duration is for the client"],
  ["-q 0 host", "--qp takes a whole number from 1"],
  ["-a -s 64 host", "--all has all sizes: no --size"],
  ["-a --svg x host", "--svg draws one size: leave out --all"],
  ["--verb read -c uc host", "RDMA read needs queue pairs of kind rc"],
  ["--verb write -c ud host", "RDMA write needs queue pairs of kind rc or uc"],
];

for (const [line, message] of refused) {
  Deno.test(`perf ${line} is refused without a device`, async () => {
    const { status, err } = await ran(["perf", ...line.split(" ")]);
    assertEquals(status, 1);
    assertStringIncludes(err, message);
  });
}

Deno.test("A meter that has all messages before it hears that the sender is done leaves no timer", async () => {
  const sent = new Promise<number>((resolve) => setTimeout(() => resolve(0), 5));
  const { received } = await meterOf({ cq: { pollInto: () => 0 } }).receive(sent);
  assertEquals(received, 0);
});

Deno.test("A meter counts the time from the first message that it receives to the last one", async () => {
  const start = performance.now();
  const pause = (ms: number): void => {
    for (const begin = performance.now(); performance.now() < begin + ms;);
  };
  let polls = 0;
  const pollInto = (): number => {
    if (++polls > 3) return 0;
    pause(2);
    return 1;
  };
  const posted: number[] = [];
  const postRecv = (count: number): void => void posted.push(count);
  const { received, microseconds } = await meterOf({ cq: { pollInto }, postRecv }, 3)
    .receive(Promise.resolve(3));
  assertEquals([received, posted], [3, [2]]);
  // The first message stands for no time.
  assertGreater(microseconds, 3999);
  assertGreater((performance.now() - start) * 1000 - 1999, microseconds);
});

Deno.test("A phase of perf ends after its messages, or after its seconds", () => {
  assertEquals(goalOf({ duration: 0 }, 7), { messages: 7, ms: Infinity });
  assertEquals(goalOf({ duration: 3 }, 7).ms, 3000);
});
