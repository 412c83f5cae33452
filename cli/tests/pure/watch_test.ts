import { assertEquals, assertStringIncludes } from "@std/assert";
import { type CounterRate, monitorOf, type PortSample, ratesOf } from "../../watch/port_monitor.ts";
import { jsonView, lineView, rateText, sampleLines, screenView } from "../../watch/views.ts";
import { type Context, EventType, PortState } from "../../../mod.ts";
import { recorder } from "./terminal.ts";

const TIME = new Date(2026, 0, 2, 3, 4, 5);
const LINK_LOST = {
  time: TIME,
  device: "rxe0",
  event: { eventType: EventType.PORT_ERR, element: undefined, portNum: 1 },
};

function counter(name: string, value: bigint, delta?: bigint): CounterRate {
  return { name, value, delta, rate: delta === undefined ? undefined : Number(delta) };
}

function sample(...counters: CounterRate[]): PortSample[] {
  return [{ device: "rxe0", port: 1, state: "ACTIVE", counters }];
}

Deno.test("ratesOf() divides what was added by the time, and knows no rate after a reset", () => {
  const before = new Map([["a", 10n], ["reset", 5n]]);
  const now = new Map([["a", 30n], ["reset", 1n], ["new", 7n]]);
  assertEquals(ratesOf(before, now, 4), [
    { name: "a", value: 30n, delta: 20n, rate: 5 },
    { name: "reset", value: 1n, delta: undefined, rate: undefined },
    { name: "new", value: 7n, delta: undefined, rate: undefined },
  ]);
  assertEquals(ratesOf(undefined, new Map([["a", 1n]]), 1)[0]!.rate, undefined);
});

Deno.test("monitorOf() divides what was added by the time between two looks", () => {
  const { readTextFileSync, readDirSync } = Deno;
  const { now } = performance;
  let [time, sent] = [5000, 10];
  Object.assign(Deno, {
    readDirSync: (path: string) => path.endsWith("/hw_counters") ? [] : [{ name: "sent" }],
    readTextFileSync: () => `${sent}\n`,
  });
  performance.now = () => time;
  const context = {
    device: { name: "rxe0" },
    queryPort: (port: number) => {
      if (port !== 1) throw new Error("the port is gone");
      return { state: PortState.ACTIVE };
    },
  } as unknown as Context;
  try {
    const sample = monitorOf(context, 1);
    const counters = [{ name: "sent", value: 10n, delta: undefined, rate: undefined }];
    assertEquals(sample(), { device: "rxe0", port: 1, state: "ACTIVE", counters });
    time += 4000;
    sent += 20;
    assertEquals(sample().counters, [{ name: "sent", value: 30n, delta: 20n, rate: 5 }]);
    assertEquals(monitorOf(context, 2)().state, "unknown");
  } finally {
    Object.assign(Deno, { readTextFileSync, readDirSync });
    performance.now = now;
  }
});

Deno.test("rateText() has three digits, and bits where a counter counts words", () => {
  const text = (name: string, rate: number): string => rateText({ ...counter(name, 0n), rate });
  assertEquals(
    [0, 0.25, 950, 999.9, 12_345, 1e18].map((rate) => text("sent_pkts", rate)),
    ["0 /s", "0.25 /s", "950 /s", "1 k/s", "12.3 k/s", "1000 P/s"],
  );
  for (const kind of ["port", "unicast", "multicast"]) {
    for (const way of ["xmit", "rcv"]) {
      assertEquals(text(`${kind}_${way}_data`, 125e6 / 4), "1 Gb/s");
    }
  }
  assertEquals(rateText(counter("sent_pkts", 1n)), "");
});

Deno.test("lineView() prints what is there at first, and then what changes", () => {
  const recorded = recorder();
  const view = lineView(recorded.terminal, false);
  view.show(sample(counter("zero", 0n), counter("sent", 5n)), TIME);
  view.note(LINK_LOST);
  view.show(sample(counter("zero", 0n, 0n), counter("sent", 9n, 4n)), TIME);
  view.show(sample(counter("zero", 0n, 0n), counter("sent", 9n, 0n)), TIME);
  assertEquals(recorded.out.split("\n"), [
    "03:04:05 rxe0/1 state ACTIVE",
    "03:04:05 rxe0/1 sent 5",
    "03:04:05 rxe0/1 event PORT_ERR",
    "03:04:05 rxe0/1 sent 9 4 /s",
    "",
  ]);
});

Deno.test("lineView() prints all counters each time if it is asked to", () => {
  const recorded = recorder();
  const view = lineView(recorded.terminal, true);
  for (const delta of [undefined, 0n]) view.show(sample(counter("zero", 0n, delta)), TIME);
  const lines = ["03:04:05 rxe0/1 zero 0", "03:04:05 rxe0/1 zero 0 0 /s", ""];
  assertEquals(recorded.out.split("\n").slice(1), lines);
});

Deno.test("jsonView() prints an object a line", () => {
  const recorded = recorder();
  const view = jsonView(recorded.terminal);
  view.show(sample(counter("sent", 1n << 60n, 2n), counter("new", 1n)), TIME);
  view.note(LINK_LOST);
  const time = TIME.toISOString();
  assertEquals(recorded.out.trimEnd().split("\n").map((line) => JSON.parse(line)), [
    {
      time,
      device: "rxe0",
      port: 1,
      state: "ACTIVE",
      counters: { sent: "1152921504606846976", new: "1" },
      rates: { sent: 2, new: null },
    },
    { time, device: "rxe0", port: 1, event: "PORT_ERR" },
  ]);
});

Deno.test("sampleLines() has the port and what has grown in bold, and the state in its colour", () => {
  const [shown] = sample(counter("same", 1n, 0n), counter("sent", 12n, 2n));
  for (const [state, style] of [["ACTIVE", "green"], ["DOWN", "red"]] as const) {
    assertEquals(sampleLines({ ...shown!, state }, false), [
      [{ text: "rxe0 port 1", style: "bold" }, "  ", { text: state, style }],
      "  same   1  0 /s",
      [{ text: "  sent  12  2 /s", style: "bold" }],
    ]);
  }
});

Deno.test("screenView() draws samples and the last events, and gives the terminal back", () => {
  const recorded = recorder({ color: true });
  {
    using view = screenView(recorded.terminal, "every 1 s", false);
    view.show(sample(counter("zero", 0n), counter("sent", 12n, 2n), counter("a", 5n)), TIME);
    assertStringIncludes(recorded.out, "no events yet");
    recorded.out = "";
    for (let i = 0; i < 7; i++) view.note(LINK_LOST);
    const last = recorded.out.split("\x1b[H").at(-1)!;
    // deno-lint-ignore no-control-regex
    assertEquals(last.replaceAll(/\x1b\[[KJ]/g, "").split("\r\n"), [
      "\x1b[2m03:04:05  every 1 s\x1b[0m",
      "",
      ...Array.from({ length: 5 }, () => "\x1b[33m03:04:05  rxe0/1  PORT_ERR\x1b[0m"),
      "",
      "\x1b[1mrxe0 port 1\x1b[0m  \x1b[32mACTIVE\x1b[0m",
      "\x1b[1m  sent  12  2 /s\x1b[0m",
      "  a      5",
    ]);
    recorded.out = "";
  }
  assertEquals(recorded.out, "\x1b[?25h\x1b[?1049l");
});
