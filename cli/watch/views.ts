/** How `watch` shows what it sees: on a screen, as lines, and as JSON. */

import { type AsyncEvent, EventType, nameOf } from "@rdma/ibverbs";
import type { Line, Terminal } from "../shell/terminal.ts";
import { alignColumns } from "../shell/text.ts";
import type { CounterRate, PortSample } from "./port_monitor.ts";

export interface SeenEvent {
  readonly time: Date;
  readonly device: string;
  readonly event: AsyncEvent;
}

export interface View {
  readonly show: (samples: readonly PortSample[], time: Date) => void;
  readonly note: (event: SeenEvent) => void;
}

/** Most events that the screen shows. */
const EVENTS = 5;

/**
 * Shows the last samples and events on a screen, which is drawn again and again. The title is the first line. The view
 * takes the whole terminal until it is disposed.
 */
export function screenView(terminal: Terminal, title: string, all: boolean): View & Disposable {
  const screen = terminal.enterScreen();
  const events: SeenEvent[] = [];
  let shown: readonly PortSample[] = [];
  const draw = (time: Date): void =>
    terminal.drawScreen([
      [{ text: `${clock(time)}  ${title}`, style: "dim" }],
      ...eventLines(events.slice(-EVENTS)),
      ...shown.flatMap((sample) => ["", ...sampleLines(sample, all)]),
    ]);
  return {
    show(samples, time): void {
      shown = samples;
      draw(time);
    },
    note(event): void {
      events.push(event);
      draw(event.time);
    },
    [Symbol.dispose]: () => screen[Symbol.dispose](),
  };
}

function eventLines(events: readonly SeenEvent[]): Line[] {
  if (events.length === 0) return ["", "no events yet"];
  const texts = alignColumns(
    events.map((seen) => [clock(seen.time), placeOf(seen), nameOfEvent(seen)]),
  );
  return ["", ...texts.map((text): Line => [{ text, style: "yellow" }])];
}

/** A port, and its counters: all of them, or those that are not zero. Those that have just grown are in bold. */
export function sampleLines({ device, port, state, counters }: PortSample, all: boolean): Line[] {
  const shown = counters.filter(({ value }) => all || value !== 0n);
  const rows = alignColumns(shown.map((counter) => [
    `  ${counter.name}`,
    { right: String(counter.value) },
    { right: rateText(counter) },
  ]));
  const style = state === "ACTIVE" ? "green" : "red";
  return [
    [{ text: `${device} port ${port}`, style: "bold" }, "  ", { text: state, style }],
    ...rows.map((text, i): Line => shown[i]!.delta ? [{ text, style: "bold" }] : text),
    ...shown.length === 0 ? ["  no counters above 0"] : [],
  ];
}

/** Shows a line for each counter that has changed and for each event. */
export function lineView(terminal: Terminal, all: boolean): View {
  let isFirst = true;
  const isShown = ({ value, delta }: CounterRate): boolean =>
    all || (isFirst ? value !== 0n : delta !== 0n);
  return {
    show(samples, time): void {
      const lines = samples.flatMap((sample) =>
        [
          ...isFirst ? [`state ${sample.state}`] : [],
          ...sample.counters.filter(isShown).map(counterText),
        ].map((text) => `${clock(time)} ${placeOf(sample)} ${text}`)
      );
      isFirst = false;
      if (lines.length > 0) terminal.print(lines);
    },
    note(seen): void {
      terminal.print([`${clock(seen.time)} ${placeOf(seen)} event ${nameOfEvent(seen)}`]);
    },
  };
}

function counterText(counter: CounterRate): string {
  const rate = rateText(counter);
  return `${counter.name} ${counter.value}${rate === "" ? "" : ` ${rate}`}`;
}

/** Shows a line of JSON for each sample of a port and for each event. */
export function jsonView(terminal: Terminal): View {
  return {
    show(samples, time): void {
      for (const { counters, ...rest } of samples) {
        const values = Object.fromEntries(counters.map(({ name, value }) => [name, value]));
        const rates = Object.fromEntries(counters.map(({ name, rate }) => [name, rate ?? null]));
        terminal.printJson({ time, ...rest, counters: values, rates }, "line");
      }
    },
    note(seen): void {
      const { time, device, event } = seen;
      const port = event.portNum ?? null;
      terminal.printJson({ time, device, port, event: nameOfEvent(seen) }, "line");
    },
  };
}

function nameOfEvent({ event }: SeenEvent): string {
  return nameOf(EventType, event.eventType);
}

function placeOf(seen: SeenEvent | PortSample): string {
  const port = "port" in seen ? seen.port : seen.event.portNum;
  return port === undefined ? seen.device : `${seen.device}/${port}`;
}

/** The time of day on this host. */
function clock(time: Date): string {
  const parts = [time.getHours(), time.getMinutes(), time.getSeconds()];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}

/** Counters of the InfiniBand specification that count data in words of 4 bytes. */
const WORDS = /^(port|unicast|multicast)_(xmit|rcv)_data$/;
const BITS_OF_WORD = 32;
const PREFIXES = ["", "k", "M", "G", "T", "P"];

/** A rate with its unit, such as `1.25 Gb/s` of data or `950 /s` of anything else; empty if it is not known. */
export function rateText({ name, rate }: CounterRate): string {
  if (rate === undefined) return "";
  return WORDS.test(name) ? `${scaled(rate * BITS_OF_WORD)}b/s` : `${scaled(rate)}/s`;
}

/** A number of three digits with a prefix, such as `1.25 G`. */
function scaled(value: number): string {
  let power = 0;
  // Rounding may give 1000.
  while (Number(value.toPrecision(3)) >= 1000 && power < PREFIXES.length - 1) {
    value /= 1000;
    power++;
  }
  return `${value === 0 ? "0" : Number(value.toPrecision(3))} ${PREFIXES[power]}`;
}
