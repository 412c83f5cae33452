// What the programs of perftest say.

import { assertEquals, assertThrows } from "@std/assert";
import { parsePerftest, type Test } from "../../../bench/guest/perftest.ts";

const LATENCY: Test = { name: "send_lat", size: 64, count: 1000, depth: 1, moderation: 1 };
const BANDWIDTH: Test = { name: "write_bw", size: 4096, count: 2000, depth: 128, moderation: 100 };

Deno.test("parsePerftest() gives the nanoseconds of a message", () => {
  const latency = ` #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]
 64      1000          20.05          95.38        21.55              21.80
---
`;
  assertEquals(Math.round(parsePerftest(LATENCY, latency)), 21_550);
  const bandwidth =
    ` #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 4096       2000             0.00               100.00             0.025600
`;
  assertEquals(parsePerftest(BANDWIDTH, bandwidth), 39_062.5);
  // The program has no clock.
  assertEquals(parsePerftest(LATENCY, " 64  1000  -nan  -nan  -nan  -nan\n"), NaN);
});

Deno.test("parsePerftest() throws if the program did not finish", () => {
  assertThrows(() => parsePerftest(LATENCY, "Couldn't connect\n"), Error, "Couldn't connect");
  assertThrows(() => parsePerftest(LATENCY, " 64  999  1  2  3  4\n"), Error, "Cannot measure");
});
