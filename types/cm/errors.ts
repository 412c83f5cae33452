import { errnoDescription, errnoName } from "../../ffi/errno.ts";
import type { AnyFunction } from "../../ffi/function_pointer.ts";
import { rdmacm } from "../../ffi/rdmacm.ts";
import { type Rdmacm, rdmacmRows } from "../../ffi/rdmacm/functions.ts";
import {
  MOVED_NEIGHBOUR,
  REJECT_REASONS,
  SIDR_STATUSES,
  SILENT_HOST,
} from "../../internal/cm_reasons.ts";
import { causeOf, type Causes } from "../core/causes.ts";
import { nameOf } from "../core/enums.ts";
import { checked, type CheckOptions } from "../core/errors.ts";
import { hintAddress } from "./address_causes.ts";
import { CmEventType } from "./enums.ts";
import type { SocketAddress } from "./socket_address.ts";

/** What is known of a failure. */
interface CmErrorDetails {
  readonly hint?: string | undefined;
  readonly privateData?: Uint8Array<ArrayBuffer> | undefined;
}

/**
 * A failure that a connection event reports: of an address, a route, a connection or a multicast group. The message
 * names the action, the event and the cause.
 *
 * @category Errors
 */
export class CmError extends Error {
  /** The error's name. */
  override readonly name = "CmError";
  /** The event; `undefined` for an error of `getAddrInfo()`. */
  readonly event: CmEventType | undefined;
  /**
   * The status of the event: for a rejection the reason as InfiniBand numbers them, otherwise a negative errno value.
   * For `getAddrInfo()`: what `getaddrinfo(3)` returns.
   */
  readonly status: number;
  /**
   * The data of a rejection, with zeros behind it: those of the peer's program, or none if its system has rejected, because
   * nobody listens.
   *
   * @example Why a program does not want the connection
   * ```ts
   * import { CmError } from "@rdma/ibverbs/cm";
   *
   * // What `await id.connect(qp)` has thrown.
   * function reasonOf(error: unknown): string {
   *   const data = error instanceof CmError ? error.privateData : undefined;
   *   // The system fills the data with zeros.
   *   return new TextDecoder().decode(data).replace(/\0+$/, "");
   * }
   * ```
   */
  readonly privateData: Uint8Array<ArrayBuffer> | undefined;
  /** The likely cause, and where it is known its remedy; `undefined` if the cause is not known. The message has it too. */
  readonly hint: string | undefined;

  /** @ignore Describes a failure. */
  constructor(
    message: string,
    event: CmEventType | undefined,
    status: number,
    { hint, privateData }: CmErrorDetails = {},
  ) {
    super(message);
    this.event = event;
    this.status = status;
    this.privateData = privateData;
    this.hint = hint;
  }
}

const TYPE = CmEventType;
const SILENT =
  "the host does not answer ARP or neighbour discovery: is it up, and in this network?";

/** Likely causes of the errors of the system. */
const CAUSES: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  [TYPE.ADDR_ERROR]: {
    ETIMEDOUT: SILENT,
    EHOSTUNREACH: SILENT,
    ENETUNREACH:
      "no route of this host leads there, or its link is down: see `ip route get` and `ip link`",
    ENODEV: "no RDMA device leads there: see `rdma link`",
  },
  [TYPE.ROUTE_ERROR]: {
    ETIMEDOUT: "the subnet manager does not answer",
    ENODEV: "no RDMA device leads there: see `rdma link`",
  },
  [TYPE.UNREACHABLE]: { ETIMEDOUT: SILENT_HOST },
  [TYPE.REJECTED]: {
    // iWARP uses TCP.
    ECONNREFUSED: "nobody listens on this port of the peer, or its program does not want it",
    ECONNRESET: "the peer has gone away",
  },
};

/**
 * The error of an event that reports a failure: of a connection that `exists`, or of one that is being made to the
 * address `peer`.
 */
export function eventError(
  action: string,
  { event, status }: { readonly event: CmEventType; readonly status: number },
  exists: boolean,
  privateData?: Uint8Array<ArrayBuffer>,
  peer?: SocketAddress,
): CmError {
  const [cause, hint] = exists && event === TYPE.UNREACHABLE
    ? [MOVED_NEIGHBOUR, MOVED_NEIGHBOUR]
    : reasonOf(event, status, peer);
  const message = `Cannot ${action}: the event is ${nameOf(CmEventType, event)} (${cause})`;
  return new CmError(message, event, status, { hint, privateData });
}

/** What the status of an event means, and the likely cause of it. */
function reasonOf(
  event: CmEventType,
  status: number,
  peer: SocketAddress | undefined,
): [reason: string, hint: string | undefined] {
  // The status of this event is positive, as in errno.
  if (status < 0 || event === TYPE.ADDRINFO_ERROR) {
    const value = Math.abs(status);
    const code = errnoName(value);
    const hint = (peer && hintAddress(code, peer)) ?? CAUSES[event]?.[code];
    return [`${code}: ${errnoDescription(value)}${hint === undefined ? "" : `; ${hint}`}`, hint];
  }
  const { REJECTED, UNREACHABLE } = TYPE;
  const reasons = event === REJECTED ? REJECT_REASONS : event === UNREACHABLE ? SIDR_STATUSES : {};
  const hint = reasons[status];
  return [hint === undefined ? `status ${status}` : `${status}: ${hint}`, hint];
}

/** Calls a function of librdmacm. If that fails, this throws the error. */
export function callCm<F extends keyof Rdmacm>(
  name: F,
  action: string,
  args: Readonly<Parameters<Rdmacm[F]>>,
  options: CheckOptions = {},
): NonNullable<ReturnType<Rdmacm[F]>> {
  const result: ReturnType<Rdmacm[F]> = (rdmacm()[name] as AnyFunction)(...args);
  return checked(name, rdmacmRows[name], result, action, options);
}

export const CHANNEL_CAUSES: Causes = [
  [
    "ENODEV, ENOENT",
    "There must be an RDMA device, and /dev/infiniband/rdma_cm of the module rdma_ucm",
  ],
];

/** Why librdmacm cannot start. */
export function hintNoDevice(code: string): string | undefined {
  return causeOf(CHANNEL_CAUSES, code, {});
}
