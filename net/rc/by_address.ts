import {
  AddrInfoFlags,
  CmError,
  CmEventType,
  CmId,
  EventChannel,
  getAddrInfo,
  PortSpace,
  type SocketAddress,
} from "../../cm.ts";
import { show } from "../../internal/checks.ts";
import { eachAddress } from "../../internal/each_address.ts";
import { partOf } from "../../internal/left_open.ts";
import { made } from "../../internal/made.ts";
import type { Rule, Rules } from "../../internal/options.ts";
import { paced } from "../../wait/paced.ts";
import { reasonOf } from "../../internal/texts.ts";
import { TransportType, VerbsError } from "../../mod.ts";
import { refuseLoopback } from "../shared/loopback.ts";
import type { Attempt } from "./attempt.ts";
import { RcConn } from "./rc_conn.ts";
import { deviceFor } from "./rc_device.ts";
import { RcEnd } from "./rc_end.ts";
import { RC_RULES, type RcSettings } from "./rc_options.ts";

/** The rule of an option that must be left out, because the address chooses. */
function chosen<T>(byDefault: Rule<T>): Rule<T> {
  return (value, what) => {
    if (value === undefined) return byDefault(value, what);
    throw new TypeError(`Cannot use ${what} ${show(value)} with port: the address chooses it`);
  };
}

const { device, portNum, gidIndex, pkeyIndex, peerGid } = RC_RULES;

/** The rules of options that an address stands for. */
export const BY_ADDRESS: Pick<
  Rules<RcSettings>,
  "device" | "portNum" | "gidIndex" | "pkeyIndex" | "peerGid"
> = {
  device: chosen(device),
  portNum: chosen(portNum),
  gidIndex: chosen(gidIndex),
  pkeyIndex: chosen(pkeyIndex),
  peerGid: chosen(peerGid),
};

/** Connects to the listener at a port of a host, at the first of its addresses where that is possible. */
export async function connectByAddress(
  settings: RcSettings,
  hostname: string,
  port: number,
  attempt: Attempt,
): Promise<RcConn> {
  const { signal } = attempt;
  const hints = { portSpace: PortSpace.TCP, flags: AddrInfoFlags.NOROUTE | AddrInfoFlags.FAMILY };
  const addresses = eachAddress(
    (family = 0) => getAddrInfo(hostname, `${port}`, { ...hints, family, signal }),
    signal,
  );
  let failure: unknown;
  attempt.step = ": the name server does not answer";
  for await (const address of addresses) {
    attempt.step = "";
    try {
      return await connectAt(address, settings, `${hostname} port ${port}`, attempt);
    } catch (error) {
      // The answer of a host says more than that another address leads nowhere.
      if (failure === undefined || leadsNowhere(failure)) failure = error;
    }
  }
  throw failure;
}

function leadsNowhere(error: unknown): boolean {
  const { ADDR_ERROR, ROUTE_ERROR } = CmEventType;
  const events: readonly (CmEventType | undefined)[] = [ADDR_ERROR, ROUTE_ERROR];
  return error instanceof VerbsError || error instanceof Deno.errors.AddrNotAvailable ||
    error instanceof CmError && events.includes(error.event);
}

async function connectAt(
  address: SocketAddress,
  settings: RcSettings,
  target: string,
  attempt: Attempt,
): Promise<RcConn> {
  const { signal } = attempt;
  refuseLoopback(
    address.hostname,
    `connect to ${target}`,
    "another address of a device, or tcpPort",
  );
  using stack = new DisposableStack();
  const id = new CmId(stack.use(partOf(new EventChannel())));
  // The request states it, and so a peer that has not chosen one answers with it.
  const { trafficClass: tos } = settings;
  if (tos !== undefined) id.setOptions({ tos });
  await id.resolveAddr(address, { signal });
  await id.resolveRoute({ signal });
  assertMessages(id);
  const { name } = id.device!;
  const shared = deviceFor({ ...settings, device: name, portNum: id.portNum });
  const device = await paced(() => shared.use());
  await using end = await RcEnd.make(device, settings, id);
  const conn = new RcConn(made(await refused(target, end.connectById(attempt))));
  stack.move();
  return conn;
}

/** Finds the address of this host that a name stands for. */
export async function lookUp(
  hostname: string,
  port: number,
  signal: AbortSignal | undefined,
): Promise<SocketAddress> {
  const flags = AddrInfoFlags.PASSIVE | AddrInfoFlags.NOROUTE;
  const hints = { flags, portSpace: PortSpace.TCP, signal };
  const [info] = await getAddrInfo(hostname, String(port), hints);
  return info!.srcAddr!;
}

/**
 * Checks that a device can send messages with immediate data.
 *
 * @throws {Deno.errors.NotSupported} If it cannot.
 */
export function assertMessages({ device }: CmId): void {
  if (device!.transportType !== TransportType.IWARP) return;
  throw new Deno.errors.NotSupported(
    `Cannot connect: device "${device!.name}" is iWARP, which has no immediate data`,
  );
}

const NOBODY = 8;

/** Whether the cause of a refusal is that nobody listens: over TCP there is no other one. */
export function isAbsent(cause: unknown): boolean {
  return !(cause instanceof CmError) || cause.status === NOBODY;
}

async function refused<T>(target: string, connected: Promise<T>): Promise<T> {
  try {
    return await connected;
  } catch (error) {
    if (!(error instanceof CmError) || error.event !== CmEventType.REJECTED) throw error;
    const message = `Cannot connect to ${target}: ${reasonOf(error, "connect")}`;
    throw new Deno.errors.ConnectionRefused(message, { cause: error });
  }
}
