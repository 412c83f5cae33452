import {
  AddrInfoFlags,
  CmError,
  CmEventType,
  CmId,
  EventChannel,
  getAddrInfo,
  PortSpace,
  type SocketAddress,
  type UdParam,
} from "../../cm.ts";
import { type AbortOptions, checkSignal } from "../../wait/abort.ts";
import { integer, milliseconds, quote, snapshot, text } from "../../internal/checks.ts";
import { millisecondsOrZero, option, readOptions, type Rules } from "../../internal/options.ts";
import { familyOf, UDP_QKEY } from "../../internal/cm_numbers.ts";
import { SILENT_HOST } from "../../internal/cm_reasons.ts";
import { Deadline } from "../../wait/deadline.ts";
import { partOf } from "../../internal/left_open.ts";
import { reasonOf } from "../../internal/texts.ts";
import { refuseLoopback } from "../shared/loopback.ts";
import { retrying } from "../shared/retrying.ts";
import { readAnswer } from "./lookup_answer.ts";
import { assertManaged, ownAddress } from "./own_address.ts";
import type { LocalPort, UdAddress } from "./ud_address.ts";

/**
 * Options of `UdConn.lookup`.
 *
 * @category Datagrams
 */
export interface LookupOptions extends AbortOptions {
  /** The time in milliseconds that it may take, 1 to 2^31 - 1. The default is 15000. */
  readonly timeout?: number | undefined;
  /**
   * The pause between two attempts while nobody listens, in milliseconds; `timeout` ends them. The default is 0: it
   * fails at once. With another value it does not matter which of two programs starts first.
   */
  readonly retryInterval?: number | undefined;
}

/**
 * Where `UdConn.lookup` looks.
 *
 * @category Datagrams
 */
export interface LookupAddress {
  /** The name of the host, or an address that an RDMA device has or leads to. It is no loopback address, such as 127.0.0.1. */
  readonly hostname: string;
  /** The port, 1 to 65535: `UdOptions.port` there. */
  readonly port: number;
}

/** The arguments of a look-up, checked. */
export interface Lookup {
  readonly hostname: string;
  readonly port: number;
  readonly timeout: number;
  readonly retryInterval: number;
  readonly signal: AbortSignal | undefined;
}

const RULES: Rules<Pick<Lookup, "timeout" | "retryInterval" | "signal">> = {
  timeout: option(milliseconds, 15_000),
  retryInterval: option(millisecondsOrZero, 0),
  signal: option(checkSignal, undefined),
};

/** Reads and checks the arguments of `UdConn.lookup`. */
export function readLookup(address: LookupAddress, options: LookupOptions = {}): Lookup {
  const { hostname, port } = snapshot(address, "address", ["hostname", "port"]);
  return {
    hostname: text(hostname, "hostname"),
    port: integer(port, "port", 1, 0xffff),
    ...readOptions(options, RULES),
  };
}

/** The socket that looks for another one. */
export interface Searcher {
  readonly device: string;
  readonly local: LocalPort;
  readonly qpNum: number;
  readonly qkey: number;
}

/** Asks the connection manager of a host for the socket at a port. It ends when one of the signals aborts. */
export async function lookUp(
  own: Searcher,
  lookup: Lookup,
  closing: AbortSignal,
): Promise<UdAddress> {
  const { hostname, port, timeout, retryInterval, signal } = lookup;
  checkSearcher(own);
  let step = "";
  const late = (): Error =>
    new Deno.errors.TimedOut(
      `Cannot look up ${quote(hostname)} port ${port}: it took longer than ${timeout} ms${step}`,
    );
  using deadline = new Deadline(timeout, late, [signal, closing]);
  try {
    const { signal } = deadline;
    const attempt = async (): Promise<UdAddress> => {
      step = ": the name server does not answer";
      const address = await addressOf(own, lookup, signal);
      step = `: ${SILENT_HOST}`;
      return await askHost(own, lookup, address, signal);
    };
    return await retrying(retryInterval, timeout, deadline.signal, attempt, isAbsent);
  } catch (error) {
    if (!isAbsent(error)) deadline.signal.throwIfAborted();
    throw error;
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof Deno.errors.ConnectionRefused;
}

/** Checks that the socket that is found can answer. */
function checkSearcher({ qkey, local }: Searcher): void {
  assertManaged(local, "look up");
  if (qkey === UDP_QKEY) return;
  throw new TypeError(
    `Cannot look up: the qkey of the socket is 0x${
      qkey.toString(16)
    }, and who is found by address answers to ` +
      `0x${UDP_QKEY.toString(16)}: leave qkey out of the options of listenUd()`,
  );
}

/**
 * The address of the host, which the connection manager reaches.
 *
 * @throws {Deno.errors.AddrNotAvailable} If it is a loopback address.
 */
async function addressOf(
  { local: { needsGrh, gid } }: Searcher,
  { hostname, port }: Lookup,
  signal: AbortSignal,
): Promise<SocketAddress> {
  // On Ethernet datagrams go from the socket's own address, and so to one of the same family.
  const family = needsGrh ? familyOf(gid.isIpv4Mapped) : 0;
  const flags = AddrInfoFlags.NOROUTE | AddrInfoFlags.FAMILY;
  const hints = { portSpace: PortSpace.UDP, flags, family, signal };
  const [info] = await getAddrInfo(hostname, `${port}`, hints);
  const address = info!.dstAddr!;
  const action = `look up ${quote(hostname)} port ${port}`;
  refuseLoopback(address.hostname, action, "another address of a device");
  return address;
}

async function askHost(
  own: Searcher,
  lookup: Lookup,
  address: SocketAddress,
  signal: AbortSignal,
): Promise<UdAddress> {
  try {
    return toAddress(await ask(own, address, signal));
  } catch (error) {
    throw refusalOf(error, lookup);
  }
}

async function ask(
  { device, local, qpNum }: Searcher,
  address: SocketAddress,
  signal: AbortSignal,
): Promise<UdParam> {
  using channel = partOf(new EventChannel());
  const id = new CmId(channel, PortSpace.UDP);
  const own = local.needsGrh ? { srcAddr: ownAddress(local, "look up") } : {};
  await id.resolveAddr(address, { ...own, signal });
  await id.resolveRoute({ signal });
  const found = id.device!.name;
  if (found !== device || id.portNum !== local.port) {
    throw new Deno.errors.NotSupported(
      `Cannot look up: port ${id.portNum} of device "${found}" leads there, and the socket is at port ` +
        `${local.port} of "${device}": choose them by device and portNum`,
    );
  }
  const { ud } = await id.connect(qpNum, {}, { signal });
  return ud!;
}

function toAddress({ ahAttr, qpNum, qkey, privateData }: UdParam): UdAddress {
  const { isGlobal, grh, dlid: lid } = ahAttr;
  const maxMessage = readAnswer(privateData);
  const gid = isGlobal ? grh.dgid.toString() : "::";
  return {
    ...{ transport: "UD", gid, lid, qpNum, qkey } as const,
    ...maxMessage !== undefined && { maxMessage },
  };
}

/** The status of an answer for a port at which nobody listens. */
const NOBODY = 1;

function refusalOf(error: unknown, { hostname, port }: Lookup): unknown {
  if (!(error instanceof CmError)) return error;
  const { event, status } = error;
  if (event !== CmEventType.UNREACHABLE || status !== NOBODY) return error;
  const message = `Cannot look up ${quote(hostname)} port ${port}: ${reasonOf(error, "connect")}`;
  return new Deno.errors.ConnectionRefused(message, { cause: error });
}
