/** Examines the way between two hosts: both run this, and exchange over TCP what they have and what has arrived. */

import {
  type Context,
  type Gid,
  type GidEntry,
  GidType,
  LinkLayer,
  mtuBytes,
  nameOf,
  QpType,
  WcStatus,
} from "@rdma/ibverbs";
import { addressIn, addressText, type Channel, numberOf, shownOf } from "../peer/channel.ts";
import { Endpoint } from "../peer/endpoint.ts";
import { type Options, readOptions } from "../peer/options.ts";
import { CommandError, messageOf } from "../shell/command.ts";
import type { Finding } from "./finding.ts";
import { NO_WAY, NOT_TRIED } from "./pair_checks.ts";
import {
  FAMILIES,
  type Family,
  matchGids,
  type PairFacts,
  type PairGid,
  type PairPort,
  type Probe,
  type SideFacts,
} from "./pair_facts.ts";

const VERSION = 1;
/** Messages of a probe. */
const MESSAGES = 8;
const SMALL = 64;
const LARGE_RC = 0x4000;
/** Between two datagrams: a burst would find losses that single messages do not have. */
const PAUSE_MS = 5;
/** How long datagrams may still be on their way when the sender is done. */
const GRACE_MS = 300;
/** All retries of a connection take half a second to some seconds. */
const SEND_MS = 15_000;
/** How long the peer may be silent: longer than its sends may take. */
export const SILENCE_S = 30;

/** The objects that send and receive the messages. */
interface Link {
  readonly channel: Channel;
  readonly context: Context;
  readonly options: Options;
  /** Bytes of the largest datagram. */
  readonly mtu: number;
  /** Whether this side sends first. */
  readonly isFirst: boolean;
}

/**
 * The facts about a port that are sent to the other side.
 *
 * @throws {CommandError} If its table of P_Keys has no such index.
 */
export function pairPort(context: Context, port: number, pkeyIndex: number): PairPort {
  const { linkLayer, activeMtu, pkeyTblLen } = context.queryPort(port);
  if (pkeyIndex >= pkeyTblLen) {
    const table =
      `the table of ${context.device.name} port ${port} has ${pkeyTblLen}, from index 0`;
    throw new CommandError(`there is no P_Key of index ${pkeyIndex}: ${table}`);
  }
  const isRoce = linkLayer === LinkLayer.ETHERNET;
  // Other interfaces of the port may be those of other namespaces.
  const best = bestNetdev(context, port);
  const isOther = ({ ndevIfindex }: GidEntry): number => Number(ndevIfindex !== best);
  return {
    device: context.device.name,
    port,
    isRoce,
    mtu: mtuBytes(activeMtu),
    pkey: context.queryPkey(port, pkeyIndex),
    gids: context.queryGidTable(port)
      .filter(({ gid, gidType }) => !gid.isZero && (!isRoce || gidType === GidType.ROCE_V2))
      .sort((a, b) => isOther(a) - isOther(b))
      .map(({ gid, gidIndex }): PairGid => ({
        index: gidIndex,
        gid: `${gid}`,
        family: isRoce ? familyOf(gid) : "InfiniBand",
      })),
  };
}

function familyOf(gid: Gid): Family {
  if (gid.reach === "host") return "loopback";
  if (gid.isIpv4Mapped) return "IPv4";
  return gid.reach === "link" ? "link-local" : "IPv6";
}

/** The network interface of the GID to send from; undefined if no GID is usable. */
function bestNetdev(context: Context, port: number): number | undefined {
  try {
    return context.recommendGid(port).ndevIfindex;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Exchanges the facts of both sides. */
export async function introduce(channel: Channel, here: SideFacts): Promise<SideFacts> {
  await channel.send({ doctor: VERSION, ...here });
  return readSide(await channel.greeting(VERSION));
}

/** Sends messages of both services and of two sizes in both directions, as far as the two sides are compatible. */
export async function examinePair(
  channel: Channel,
  context: Context | undefined,
  { host, here, there, isFirst, pkeyIndex }: Pick<PairFacts, "host" | "here" | "there"> & {
    readonly isFirst: boolean;
    readonly pkeyIndex: number;
  },
): Promise<PairFacts> {
  const none = { host, here, there, gids: null, mtu: 0, out: [], in: [] };
  if (context === undefined || here.port === null || there.port === null) return none;
  const matched = matchGids(here.port, there.port);
  if (matched === undefined) return none;
  const [ours, theirs] = matched;
  const mtu = Math.min(here.port.mtu, there.port.mtu);
  const values = {
    "ib-port": here.port.port,
    "gid-idx": ours.index,
    "pkey-index": pkeyIndex,
    mtu,
    "rx-depth": MESSAGES,
  };
  const options = readOptions({ numbers: [] }, values, []);
  const link = { channel, context, options: { ...options, txDepth: MESSAGES }, mtu, isFirst };
  const [out, back] = await probeAll(link);
  return { ...none, gids: { here: ours.gid, there: theirs.gid }, mtu, out, in: back };
}

async function probeAll(link: Link): Promise<[out: Probe[], back: Probe[]]> {
  const found: [out: Probe[], back: Probe[]] = [[], []];
  const isThrough = ({ received }: Probe): boolean => received > 0;
  for (const service of ["UD", "RC"] as const) {
    // A connection needs both directions, also for acknowledgements.
    const isPossible = service === "UD" || found.every((probes) => isThrough(probes[0]!));
    for (const size of [SMALL, service === "UD" ? link.mtu : LARGE_RC]) {
      for (const sends of [link.isFirst, !link.isFirst]) {
        const probes = found[sends ? 0 : 1];
        // Large messages are sent only if small ones arrive, and those of a connection only if large datagrams arrive.
        const isTried = isPossible && (size === SMALL || probes.every(isThrough));
        const nothing = { service, size, sent: 0, received: 0, status: NOT_TRIED };
        probes.push(isTried ? await probe(link, { service, size, sends }) : nothing);
      }
    }
  }
  return found;
}

/** Sends messages from one side to the other, each side with a queue pair of its own for them. */
async function probe(
  { channel, context, options }: Link,
  { service, size, sends }: Pick<Probe, "service" | "size"> & { readonly sends: boolean },
): Promise<Probe> {
  using endpoint = new Endpoint(context, { ...options, size }, { qpType: QpType[service] });
  await channel.send({ address: addressText(endpoint.addresses[0]!) });
  const there = addressIn(await channel.receive());
  const fault = faultOf(() => endpoint.connect([there]));
  await channel.send({ fault });
  const answer = await channel.receive();
  const theirs = answer.fault === null ? null : textIn(answer, "fault");
  const own = sends ? fault : theirs;
  const status = own ?? (sends ? theirs : fault);
  if (status !== null) {
    return { service, size, sent: 0, received: 0, status: own === null ? NOT_TRIED : NO_WAY + own };
  }
  const base = { service, size, sent: MESSAGES };
  if (sends) {
    const status = await sendAll(endpoint);
    await channel.send({ status });
    const received = numberOf(await channel.receive(), "received", [0, MESSAGES]);
    return { ...base, received, status };
  }
  return { ...base, ...await receiveAll(endpoint, channel) };
}

function faultOf(step: () => void): string | null {
  try {
    step();
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

/** Sends all messages. The result is the status of the first one that fails, or that of all. */
async function sendAll(endpoint: Endpoint): Promise<string> {
  for (let i = 0; i < MESSAGES; i++) {
    endpoint.postSend(0);
    await pause(PAUSE_MS);
  }
  const end = performance.now() + SEND_MS;
  let done = 0;
  while (done < MESSAGES) {
    for (const { status } of endpoint.cq.poll(MESSAGES)) {
      if (status !== WcStatus.SUCCESS) return nameOf(WcStatus, status);
      done++;
    }
    if (performance.now() > end) return "no completion";
    await pause(1);
  }
  return nameOf(WcStatus, WcStatus.SUCCESS);
}

/** Counts what arrives, until all of it has, or no more comes after the sender is done. */
async function receiveAll(
  { cq }: Endpoint,
  channel: Channel,
): Promise<Pick<Probe, "received" | "status">> {
  let status: string | undefined;
  let end = Infinity;
  const ended = channel.receive().then((message) => {
    status = textIn(message, "status");
    end = performance.now() + GRACE_MS;
  });
  // A failure ends the wait, and is thrown below.
  ended.catch(() => end = 0);
  let received = 0;
  while (performance.now() < end && !(received === MESSAGES && status !== undefined)) {
    received += cq.poll(MESSAGES).filter(({ status }) => status === WcStatus.SUCCESS).length;
    await pause(1);
  }
  await ended;
  await channel.send({ received });
  return { received, status: status! };
}

async function pause(milliseconds: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** What a peer says about itself. */
function readSide({ findings, port }: Readonly<Record<string, unknown>>): SideFacts {
  return {
    findings: arrayOf(findings).map((finding): Finding => ({
      id: textIn(finding, "id"),
      level: finding.level === "broken" ? "broken" : "warning",
      subject: textIn(finding, "subject"),
      problem: textIn(finding, "problem"),
      remedy: textIn(finding, "remedy"),
    })),
    port: port === null ? null : readPort(arrayOf([port])[0]!),
  };
}

function readPort(port: Readonly<Record<string, unknown>>): PairPort {
  return {
    device: textIn(port, "device"),
    port: numberOf(port, "port", [1, 255]),
    isRoce: port.isRoce === true,
    mtu: numberOf(port, "mtu", [256, 4096]),
    pkey: numberOf(port, "pkey", [0, 0xffff]),
    gids: arrayOf(port.gids).map((entry): PairGid => ({
      index: numberOf(entry, "index", [0, 0xffff]),
      gid: textIn(entry, "gid"),
      family: familyIn(entry),
    })),
  };
}

function familyIn(entry: Readonly<Record<string, unknown>>): Family {
  const family = FAMILIES.find((family) => family === entry.family);
  if (family !== undefined) return family;
  throw new CommandError(`the peer sent ${shownOf(entry.family)} for family`);
}

function arrayOf(value: unknown): Readonly<Record<string, unknown>>[] {
  const isObject = (item: unknown): boolean => typeof item === "object" && item !== null;
  if (Array.isArray(value) && value.every(isObject)) return value;
  throw new CommandError("the peer sent no list of objects");
}

/** A text that may be printed. */
function textIn(message: Readonly<Record<string, unknown>>, name: string): string {
  const value = message[name];
  if (typeof value === "string" && !/\p{Cc}/u.test(value)) return value;
  throw new CommandError(`the peer sent ${shownOf(value)} for ${name}`);
}
