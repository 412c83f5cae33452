/** How `watch` shows what it sees: on a screen, as lines, and as JSON. */

import { type AsyncEvent, EventType, nameOf } from "../../mod.ts";
import { alignColumns } from "../shell/table.ts";
import type { Line, Terminal } from "../shell/terminal.ts";
import type { PortSample } from "./port_monitor.ts";
import { type CounterRate, rateText } from "./rates.ts";

export interface SeenEvent {
  readonly time: Date;
  readonly device: string;
  readonly event: AsyncEvent;
}

export interface View extends Disposable {
  show(samples: readonly PortSample[], time: Date): void;
  note(event: SeenEvent): void;
}

/** Most events that the screen shows. */
const EVENTS = 5;

/** Shows the last samples and events on a screen, which is drawn again and again. */
export class ScreenView implements View {
  readonly #terminal: Terminal;
  readonly #screen: Disposable;
  readonly #title: string;
  readonly #all: boolean;
  readonly #events: SeenEvent[] = [];
  #samples: readonly PortSample[] = [];

  /** Takes the whole terminal. The title stands in the first line. */
  constructor(terminal: Terminal, title: string, all: boolean) {
    this.#terminal = terminal;
    this.#title = title;
    this.#all = all;
    this.#screen = terminal.enterScreen();
  }

  show(samples: readonly PortSample[], time: Date): void {
    this.#samples = samples;
    this.#draw(time);
  }

  note(event: SeenEvent): void {
    this.#events.push(event);
    this.#draw(event.time);
  }

  #draw(time: Date): void {
    this.#terminal.drawScreen([
      [{ text: `${clock(time)}  ${this.#title}`, style: "dim" }],
      ...eventLines(this.#events.slice(-EVENTS)),
      ...this.#samples.flatMap((sample) => ["", ...sampleLines(sample, this.#all)]),
    ]);
  }

  [Symbol.dispose](): void {
    this.#screen[Symbol.dispose]();
  }
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
export class LineView implements View {
  readonly #terminal: Terminal;
  readonly #all: boolean;
  #isFirst = true;

  constructor(terminal: Terminal, all: boolean) {
    this.#terminal = terminal;
    this.#all = all;
  }

  show(samples: readonly PortSample[], time: Date): void {
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    const lines = samples.flatMap((sample) => [
      ...isFirst ? [`${clock(time)} ${placeOf(sample)} state ${sample.state}`] : [],
      ...sample.counters.filter((counter) => this.#isShown(counter, isFirst))
        .map((counter) => `${clock(time)} ${placeOf(sample)} ${counterText(counter)}`),
    ]);
    if (lines.length > 0) this.#terminal.print(lines);
  }

  #isShown({ value, delta }: CounterRate, isFirst: boolean): boolean {
    return this.#all || (isFirst ? value !== 0n : delta !== 0n);
  }

  note(seen: SeenEvent): void {
    this.#terminal.print([`${clock(seen.time)} ${placeOf(seen)} event ${nameOfEvent(seen)}`]);
  }

  [Symbol.dispose](): void {}
}

function counterText(counter: CounterRate): string {
  const rate = rateText(counter);
  return `${counter.name} ${counter.value}${rate === "" ? "" : ` ${rate}`}`;
}

/** Shows a line of JSON for each sample of a port and for each event. */
export class JsonView implements View {
  readonly #terminal: Terminal;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  show(samples: readonly PortSample[], time: Date): void {
    for (const { counters, ...rest } of samples) {
      const values = Object.fromEntries(counters.map(({ name, value }) => [name, value]));
      const rates = Object.fromEntries(counters.map(({ name, rate }) => [name, rate ?? null]));
      this.#terminal.printJson({ time, ...rest, counters: values, rates }, "line");
    }
  }

  note({ time, device, event }: SeenEvent): void {
    const port = event.portNum ?? null;
    this.#terminal.printJson({ time, device, port, event: nameOf(EventType, event.type) }, "line");
  }

  [Symbol.dispose](): void {}
}

function nameOfEvent({ event }: SeenEvent): string {
  return nameOf(EventType, event.type);
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
