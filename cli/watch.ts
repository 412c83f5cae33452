import { orAborted } from "./shell/abort.ts";
import type { Context } from "@rdma/ibverbs";
import { chosenPorts, openDevices, PORT_OPTIONS, type Report } from "./shell/ports.ts";
import { type Command, command, flag, messageOf, number } from "./shell/command.ts";
import { READERS } from "./shell/sysfs.ts";
import { canReadCounters, monitorOf, type PortSample } from "./watch/port_monitor.ts";
import { jsonView, lineView, screenView, type View } from "./watch/views.ts";

const INTERVAL = 1;
const NO_COUNTERS = `counters are left out: Deno opens /sys ${READERS}`;

export const watch: Command = command({
  name: "watch",
  summary: "Watches ports: their asynchronous events, their counters, and how fast these grow.",
  details: `
On a terminal the screen is drawn again and again. Otherwise, and with --json, there is a line for
each event and for each change. Ctrl-C ends it.
Counters are those of /sys/class/infiniband/DEVICE/ports/PORT. Deno opens /sys only to programs with
all permissions (-A); without them there are events only.`,
  options: {
    ...PORT_OPTIONS,
    interval: number("SECONDS", `time between two looks; ${INTERVAL} by default`, [1, 86_400], "n"),
    count: number(
      "NUMBER",
      "looks after which it ends; it goes on by default",
      [1, 0x7fff_ffff],
      "c",
    ),
    all: flag("show the counters that are 0, or that do not change, too", "a"),
  },
  async run(values, terminal): Promise<number> {
    using stack = new DisposableStack();
    const report = (error: unknown): void => terminal.printError(`watch: ${messageOf(error)}`);
    const contexts = openDevices(values, stack, report);
    // The ports are checked before the view takes over the screen.
    const monitors = chosenPorts(contexts, values)
      .map(([context, port]) => monitorOf(context, port));
    const { all, interval = INTERVAL, count = Infinity } = values;
    if (!canReadCounters()) terminal.printError(`watch: ${NO_COUNTERS}`);
    using end = untilSignal();
    const view = values.json
      ? jsonView(terminal)
      : terminal.interactive
      ? stack.use(screenView(terminal, `every ${interval} s, Ctrl-C ends`, all))
      : lineView(terminal, all);
    const stop = new AbortController();
    const signal = AbortSignal.any([end.signal, stop.signal]);
    const tasks = [
      followAll(contexts, view, signal, report),
      sampleAll(monitors, view, { interval, count, signal }),
    ];
    try {
      // If all devices fail, it ends with the error of the last one.
      await Promise.race(tasks);
    } finally {
      stop.abort();
      await Promise.allSettled(tasks);
    }
    return 0;
  },
});

interface Pace {
  readonly interval: number;
  readonly count: number;
  readonly signal: AbortSignal;
}

/** Samples until the count is reached or the signal aborts. */
async function sampleAll(
  monitors: readonly (() => PortSample)[],
  view: View,
  { interval, count, signal }: Pace,
): Promise<void> {
  for (let left = count; !signal.aborted; left--) {
    view.show(monitors.map((sample) => sample()), new Date());
    if (left <= 1) return;
    await pause(interval, signal);
  }
}

/** Shows the events of all devices until the signal aborts, or the last one fails. */
async function followAll(
  contexts: readonly Context[],
  view: View,
  signal: AbortSignal,
  report: Report,
): Promise<void> {
  let left = contexts.length;
  await Promise.all(contexts.map(async (context) => {
    try {
      await follow(context, view, signal);
    } catch (error) {
      if (--left === 0) throw error;
      report(error);
    }
  }));
}

/** Shows the events of a device until the signal aborts. */
async function follow(context: Context, view: View, signal: AbortSignal): Promise<void> {
  const device = context.device.name;
  try {
    for await (const event of context.events({ signal })) {
      view.note({ time: new Date(), device, event });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Waits for some seconds, or until the signal aborts. */
async function pause(seconds: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, seconds * 1000);
  try {
    await orAborted(promise, signal);
  } catch {
    clearTimeout(timer);
  }
}

/** A signal that aborts when the user or the system asks the process to end. */
function untilSignal(): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const name of signals) Deno.addSignalListener(name, abort);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      for (const name of signals) Deno.removeSignalListener(name, abort);
    },
  };
}
