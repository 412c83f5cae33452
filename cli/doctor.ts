import { Context } from "@rdma/ibverbs";
import {
  type Command,
  command,
  flag,
  ForbiddenError,
  messageOf,
  number,
  text,
  UsageError,
  type Values,
} from "./shell/command.ts";
import { Deadline } from "./shell/abort.ts";
import { PORT_OPTIONS, type Report } from "./shell/ports.ts";
import { READERS, readsSystem } from "./shell/sysfs.ts";
import type { Terminal } from "./shell/terminal.ts";
import { type HostFacts, works } from "./doctor/facts.ts";
import { type Finding, findingsOf } from "./doctor/finding.ts";
import { gather } from "./doctor/gather.ts";
import { DEVICE_CHECKS, LIMIT_CHECKS } from "./doctor/host_checks.ts";
import { pageOf, statusOf } from "./doctor/page.ts";
import { examinePair, introduce, pairPort, SILENCE_S } from "./doctor/pair.ts";
import { pairFindings } from "./doctor/pair_checks.ts";
import type { PairFacts, SideFacts } from "./doctor/pair_facts.ts";
import { PORT_CHECKS } from "./doctor/port_checks.ts";
import { Channel } from "./peer/channel.ts";
import { PKEY_INDEX } from "./peer/options.ts";
import { acceptPeer, connectTo } from "./peer/tcp.ts";

const NOT_EXAMINED = 3;
const STATUS = { healthy: 0, warning: 1, broken: 2, "not examined": NOT_EXAMINED } as const;
const NEEDS_FILES = `it reads /sys and /proc, which Deno opens ${READERS}`;
const SECONDS = 1;
const TCP_PORT = 18515;
const CONNECT_S = 10;
const VERSION = 1;

/** The checks in the order of causes: a fault comes after those that can cause it. */
export const CHECKS = { ...DEVICE_CHECKS, ...PORT_CHECKS, ...LIMIT_CHECKS } as const;

const OPTIONS = {
  ...PORT_OPTIONS,
  seconds: number("SECONDS", `how long to watch counters; ${SECONDS} by default`, [0, 3600], "n"),
  listen: flag("wait for the doctor of another host, and examine the way to it"),
  peer: text("HOST", "examine the way to that host, where doctor --listen runs"),
  port: number("PORT", `TCP port of --listen and --peer; ${TCP_PORT} by default`, [1, 65535], "p"),
  "pkey-index": PKEY_INDEX,
};

type DoctorValues = Values<typeof OPTIONS>;

export const doctor: Command = command({
  name: "doctor",
  summary:
    "Examines this host, or the way to another one: what is wrong with RDMA, and what to do.",
  details: `
The first line names the fault that matters most, and its remedy. The exit status is 0 if nothing is
wrong, 1 for a warning, 2 if no message can be sent, and 3 if nothing can be examined.
It reads /sys and /proc, which Deno opens only to programs with all permissions (-A), and to
none with a permission broker.
With --listen on one host and --peer on another one, both send small and large messages to each
other, and both say in which direction they are lost.`,
  options: OPTIONS,
  usageStatus: NOT_EXAMINED,
  async run(values, terminal): Promise<number> {
    if (values.listen && values.peer !== undefined) {
      const reason = "--listen is for one host, and --peer for the other one";
      throw new UsageError(reason, NOT_EXAMINED);
    }
    const isPair = values.listen || values.peer !== undefined;
    if (values["pkey-index"] !== undefined && !isPair) {
      throw new UsageError("--pkey-index is for --listen and --peer", NOT_EXAMINED);
    }
    if (!readsSystem()) throw new ForbiddenError(NEEDS_FILES, NOT_EXAMINED);
    const { facts, pair, failure } = isPair
      ? await examineBoth(values, terminal)
      : await examineHost(values, () => watch(values, terminal));
    const ofHost = findingsOf(CHECKS, facts);
    const findings = pair === undefined ? ofHost : pairFindings(pair, ofHost);
    const status = statusOf(findings, failure);
    if (values.json) {
      terminal.printJson({ doctor: VERSION, status, failure, findings, facts, pair });
    } else terminal.print(pageOf(findings, facts, pair, failure));
    return failure === undefined ? STATUS[status] : NOT_EXAMINED;
  },
});

/** Waits while the counters are watched. A user who chose how long is notified when the time begins. */
async function watch({ seconds }: DoctorValues, terminal: Terminal): Promise<number> {
  if (seconds) {
    terminal.printError(
      `doctor: it watches the counters for ${seconds} s: start the program that fails`,
    );
  }
  return await waitFor(seconds ?? SECONDS);
}

async function waitFor(seconds: number): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  return seconds;
}

/** What was examined, and the reasons why something could not be. */
interface Examined {
  readonly facts: HostFacts;
  readonly pair?: PairFacts;
  readonly failure?: string;
}

async function examineHost(
  values: DoctorValues,
  work: () => Promise<number> = () => waitFor(0),
): Promise<Examined> {
  return { facts: await gather(values, work, NOT_EXAMINED) };
}

/** Examines this host and the way to the other one. A failure of the other one does not hide the findings here. */
async function examineBoth(values: DoctorValues, terminal: Terminal): Promise<Examined> {
  const { facts: before } = await examineHost(values);
  try {
    using context = contextOf(before);
    // This is checked before the other doctor waits for messages.
    const pkeyIndex = values["pkey-index"] ?? 0;
    const here = sideOf(before, context, pkeyIndex);
    const report = (error: unknown): void => terminal.printError(`doctor: ${messageOf(error)}`);
    const [connection, { channel, there }] = await meet(values, here, report);
    using _closed = connection;
    const host = values.peer ?? connection.remoteAddr.hostname;
    const given = { host, here, there, pkeyIndex, isFirst: values.peer !== undefined };
    let pair: PairFacts | undefined;
    const { facts } = await examineHost(values, async () => {
      const start = performance.now();
      pair = await examinePair(channel, context, given);
      return Math.ceil((performance.now() - start) / 1000);
    });
    return { facts, pair: pair ?? await examinePair(channel, undefined, given) };
  } catch (error) {
    return { facts: before, failure: messageOf(error) };
  }
}

/** The doctor of the other host. */
interface Other {
  readonly channel: Channel;
  readonly there: SideFacts;
}

/** Waits for the other doctor, or connects to it, and exchanges the facts of both hosts. */
async function meet(
  { peer, port = TCP_PORT }: DoctorValues,
  here: SideFacts,
  report: Report,
): Promise<readonly [Deno.TcpConn, Other]> {
  const greet = async (connection: Deno.TcpConn): Promise<Other> => {
    const channel = new Channel(connection, "doctor", SILENCE_S);
    return { channel, there: await introduce(channel, here) };
  };
  if (peer === undefined) return await acceptPeer(port, greet, report);
  using stack = new DisposableStack();
  const connection = stack.use(await connectToDoctor(peer, port));
  const other = await greet(connection);
  stack.move();
  return [connection, other];
}

async function connectToDoctor(peer: string, port: number): Promise<Deno.TcpConn> {
  const silent = `Cannot connect to ${peer}, TCP port ${port}: no answer`;
  using deadline = new Deadline(CONNECT_S, () => silent);
  try {
    return await connectTo(peer, port, deadline.signal);
  } catch (error) {
    throw new Error(`${messageOf(error)}; "doctor --listen" must run there`);
  }
}

/** The first device with a port that works. */
function contextOf({ devices }: HostFacts): Context | undefined {
  const device = devices.find(({ ports }) => ports.some(works));
  return device === undefined ? undefined : Context.open(device.name);
}

function sideOf(
  facts: HostFacts,
  context: Context | undefined,
  pkeyIndex: number,
): SideFacts {
  const findings: readonly Finding[] = findingsOf(CHECKS, facts);
  if (context === undefined) return { findings, port: null };
  const { ports } = facts.devices.find(({ name }) => name === context.device.name)!;
  return { findings, port: pairPort(context, ports.find(works)!.port, pkeyIndex) };
}
