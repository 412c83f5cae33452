/**
 * Shows the asynchronous events of devices, such as a link that is lost or a GID that changes. A program that keeps
 * addresses for a long time needs them: see `ReplyPath`, which reads them by itself.
 *
 * ```text
 * watching rxe0
 * rxe0: port 1 is ACTIVE
 * rxe0: PORT_ERR, port 1 is DOWN
 * rxe0: PORT_ACTIVE, port 1 is ACTIVE
 * ```
 *
 * @module
 */

import { type AsyncEvent, Context, EventType, listDevices, nameOf, PortState } from "@rdma/ibverbs";
import { program, untilInterrupted, whole } from "./support/program.ts";

const HELP = `Shows the events of devices until Ctrl-C.

  deno run --allow-ffi examples/watch_events.ts [OPTIONS]

  -d, --device NAME      watch this device only
  -s, --seconds NUMBER   end after this time
  -h, --help             show this text
`;

const OPTIONS = {
  device: { type: "string", short: "d" },
  seconds: { type: "string", short: "s" },
} as const;

/** Watches devices. */
export const main = program("watch_events", HELP, { options: OPTIONS }, async ({ values }) => {
  const { device, seconds } = values;
  const milliseconds = seconds === undefined ? [] : [whole(seconds, "seconds", 1, 86_400) * 1000];
  const names = device === undefined ? listDevices().map(({ name }) => name) : [device];
  if (names.length === 0) throw new Error("There is no RDMA device");
  using interruption = untilInterrupted();
  const ends = milliseconds.map((ms) => AbortSignal.timeout(ms));
  // One signal ends all waits, whatever the reason is.
  const signal = AbortSignal.any([interruption.signal, ...ends]);
  await Promise.all(names.map((name) => watch(name, signal)));
});

async function watch(name: string, signal: AbortSignal): Promise<void> {
  using context = Context.open(name);
  console.log(`watching ${name}`);
  // Events report only changes, so the state before them has to be queried.
  for (let port = 1; port <= context.physPortCnt; port++) {
    console.log(`${name}: ${describePort(context, port)}`);
  }
  try {
    for await (const event of context.events({ signal })) {
      console.log(`${name}: ${describe(context, event)}`);
    }
  } catch (error) {
    // The iteration throws the reason of the signal. The user wanted that end.
    if (!signal.aborted) throw error;
  }
}

function describe(context: Context, { eventType, portNum, element }: AsyncEvent): string {
  const name = nameOf(EventType, eventType);
  if (portNum !== undefined) return `${name}, ${describePort(context, portNum)}`;
  // An event of a queue pair or a completion queue names the object, if this process still has it.
  return element === undefined ? name : `${name} of ${element.constructor.name}`;
}

/** Events may come late: this is the state now, and not that at the time of the event. */
function describePort(context: Context, port: number): string {
  return `port ${port} is ${nameOf(PortState, context.queryPort(port).state)}`;
}

if (import.meta.main) Deno.exitCode = await main(Deno.args);
