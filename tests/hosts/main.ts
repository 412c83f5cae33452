/**
 * Runs the cases of two hosts. Both hosts start it, with the number of messages, the file of the report, and a text that
 * the names of the cases must have.
 */

import { assertEquals } from "@std/assert";
// librdmacm keeps the device open: not within a case.
import "../device/cm/cm_device.ts";
import { resourceCounts } from "../device/setup.ts";
import { doctor } from "./cases/doctor.ts";
import { loss } from "./cases/loss.ts";
import { multicast } from "./cases/multicast.ts";
import { neighbours } from "./cases/neighbours.ts";
import { net } from "./cases/net.ts";
import { replyPath } from "./cases/reply_path.ts";
import type { Host, Outcome, Stream } from "./expected.ts";
import type { HostCase } from "./host_case.ts";
import { addresses, restoreAddresses } from "./network.ts";
import { Session, type Side } from "./session.ts";

// The doctor reports faults that other cases have caused: it comes first.
const CASES = [doctor, replyPath, net, multicast, neighbours, loss].flat();

/** Runs this host's side of a case. */
async function runSide(session: Session, hostCase: HostCase, messages: number): Promise<Side> {
  const streams: Stream[] = [];
  let arrived = 0;
  const run = {
    session,
    messages,
    count: (messages: number) => arrived += messages,
    expect: (stream: Stream) => streams.push(stream),
  };
  const before = resourceCounts();
  const own = addresses();
  let problem: string | null = null;
  try {
    await (session.host === 1 ? hostCase.first : hostCase.second)(run);
    assertEquals(resourceCounts(), before, "the case left kernel objects behind");
    assertEquals(addresses().sort(), own.toSorted(), "the case left addresses behind");
  } catch (error) {
    problem = `host ${session.host}: ${Deno.inspect(error, { colors: false })}`;
    await restoreAddresses(own);
  }
  return { problem, messages: arrived, streams };
}

async function runCase(session: Session, hostCase: HostCase, messages: number): Promise<Outcome> {
  const start = performance.now();
  const own = await runSide(session, hostCase, messages);
  const other = hostCase.isLast ? undefined : await session.end(own);
  return {
    name: hostCase.name,
    problem: [own.problem, other?.problem].filter((text) => text).join("\n") || null,
    messages: own.messages + (other?.messages ?? 0),
    milliseconds: Math.round(performance.now() - start),
    streams: [...own.streams, ...other?.streams ?? []],
  };
}

const [messages, file, filter] = Deno.args as [string, string, string];
const host = Number(Deno.env.get("IBVERBS_HOST")) as Host;
const cases = CASES.filter(({ name }) => name.includes(filter));
const report = (line: unknown): void => {
  if (host === 1) Deno.writeTextFileSync(file, `${JSON.stringify(line)}\n`, { append: true });
};
report({ cases: cases.length });
using session = await Session.open(host);
for (const hostCase of cases) {
  const outcome = await runCase(session, hostCase, Number(messages));
  report(outcome);
  if (host === 1) {
    const { problem, name, milliseconds } = outcome;
    console.log(
      problem === null ? `ok ${name} (${milliseconds} ms)` : `FAILED ${name}: ${problem}`,
    );
  }
}
