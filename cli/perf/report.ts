/** The result of a measurement as text. */

import { alignColumns } from "../shell/text.ts";
import type { Line } from "../shell/terminal.ts";
import type { Bar, Latency } from "./histogram.ts";

const BAR_LENGTH = 40;

/** Messages that one side sent as fast as it could, and the other received. */
export interface Counted {
  readonly sent: number;
  readonly received: number;
  /** From the first to the last one received, in microseconds. */
  readonly microseconds: number;
}

export interface Bandwidth extends Counted {
  /** Payload received, in megabits a second. */
  readonly mbitPerSecond: number;
  /** Messages received in a second. */
  readonly messagesPerSecond: number;
}

/** What was measured. */
export interface Result {
  readonly role: "client" | "server";
  readonly kind: string;
  readonly verb: string;
  readonly size: number;
  /** The number of queue pairs that send messages one way. */
  readonly queuePairs: number;
  /** Half of the time from a message to its answer; all of the time of an RDMA read, which only the client knows. */
  readonly latency?: Latency;
  /** Messages from the client to the server. */
  readonly bandwidth: Bandwidth;
}

/** Adds the rates. The time begins with the first message, so it has one message less. */
export function bandwidthOf(counted: Counted, size: number): Bandwidth {
  const { received, microseconds } = counted;
  const rate = microseconds > 0 ? Math.max(0, received - 1) / microseconds : 0;
  return { ...counted, mbitPerSecond: rate * size * 8, messagesPerSecond: rate * 1e6 };
}

export function figuresOf({ min, max, mean, percentiles }: Latency): [string, string][] {
  const all: [string, number][] = [
    ["min", min],
    ...Object.entries(percentiles),
    ["max", max],
    ["mean", mean],
  ];
  return all.map(([name, value]) => [name, value.toFixed(2)]);
}

/** What was sent, and how fast. */
export function bandwidthText({ sent, received, ...rates }: Bandwidth): string {
  const lost = sent === received ? "" : `, ${sent - received} of ${sent} messages lost`;
  const { mbitPerSecond, messagesPerSecond } = rates;
  return `${mbitPerSecond.toFixed(2)} Mbit/s, ${messagesPerSecond.toFixed(0)} messages/s${lost}`;
}

/** What was measured, in words. */
export function titleOf({ kind, verb, size, queuePairs }: Result): string {
  const from = queuePairs === 1 ? "" : `, ${queuePairs} queue pairs`;
  return `${kind.toUpperCase()} ${verb}, messages of ${size} bytes${from}`;
}

export function resultLines(result: Result): Line[] {
  const { latency, bandwidth, role } = result;
  return [
    `${titleOf(result)}, ${role}`,
    ...latency === undefined ? [] : latencyLines(latency),
    "",
    [{ text: "bandwidth from client to server", style: "bold" }],
    bandwidthText(bandwidth),
  ];
}

/** Several sizes, one in each line. */
export function tableLines(results: readonly Result[]): Line[] {
  const { kind, verb, role } = results[0]!;
  const rows = results.map(({ size, latency, bandwidth }) => {
    const times = latency === undefined
      ? ["", "", ""]
      : [latency.min, latency.percentiles.p50!, latency.percentiles.p99!].map((us) =>
        us.toFixed(2)
      );
    const { mbitPerSecond, messagesPerSecond, sent, received } = bandwidth;
    const rates = [mbitPerSecond.toFixed(2), messagesPerSecond.toFixed(0), `${sent - received}`];
    return [`${size}`, ...times, ...rates];
  });
  const header = ["bytes", "min us", "p50 us", "p99 us", "Mbit/s", "messages/s", "lost"];
  const columns = alignColumns([header, ...rows].map((row) => row.map((right) => ({ right }))));
  return [`${kind.toUpperCase()} ${verb}, ${role}`, "", ...columns];
}

function latencyLines(latency: Latency): Line[] {
  const figures = figuresOf(latency);
  return [
    "",
    [{ text: `latency of ${latency.count} messages in microseconds`, style: "bold" }],
    ...alignColumns([
      figures.map(([name]) => ({ right: name })),
      figures.map(([_, value]) => ({ right: value })),
    ]),
    "",
    ...barLines(latency.bars),
  ];
}

function barLines(bars: readonly Bar[]): string[] {
  const most = Math.max(...bars.map(({ count }) => count));
  const digits = bars.some(({ from }) => from % 1 !== 0) ? 1 : 0;
  return alignColumns(
    bars.map(({ from, to, count }) => [
      { right: from.toFixed(digits) },
      "-",
      { right: to.toFixed(digits) },
      { right: String(count) },
      "#".repeat(Math.ceil(BAR_LENGTH * count / most)),
    ]),
  );
}
