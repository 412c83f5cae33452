import { cutTo } from "../../internal/caller.ts";
import { constants } from "../../ffi/layout.ts";
import { boolean, integer, snapshot, uint8 } from "../../internal/checks.ts";
import { type DeviceInfo, TransportType } from "../device/device.ts";
import type { CmService } from "./conn_param.ts";
import { type CmState, PortSpace } from "./enums.ts";

/**
 * Options of a `CmId` (`rdma_set_option`). Options that are left out keep their values.
 *
 * @category Connections
 */
export interface CmOptions {
  /** Type of service of the connection's packets, 0 to 255. Set it before the address is resolved. */
  readonly tos?: number | undefined;
  /**
   * Whether the id may be bound to an address that another id uses. Set it before the id listens; `false` only before
   * it is bound.
   */
  readonly reuseAddr?: boolean | undefined;
  /** Whether an id that is bound to an IPv6 address refuses IPv4. Set it before the id listens or resolves. */
  readonly afOnly?: boolean | undefined;
  /**
   * Time to wait for an acknowledgement, as an exponent 0 to 31: 4.096 us * 2^ackTimeout. Not for datagrams. Linux 5.3 or
   * newer.
   */
  readonly ackTimeout?: number | undefined;
}

/** What decides how an id can be used. */
export interface CmFacts {
  readonly state: CmState;
  readonly portSpace: PortSpace;
  readonly device: DeviceInfo | undefined;
}

interface OptionRule<V> {
  readonly option: number;
  readonly bytes: (value: V) => Uint8Array<ArrayBuffer>;
  /** Why the option cannot be set, if so: the kernel would only say EINVAL, after it has set other options. */
  readonly obstacle: (id: CmFacts, value: V) => string | undefined;
}

/** Writes a C `int`. */
function intOf(name: keyof CmOptions): (value: boolean) => Uint8Array<ArrayBuffer> {
  return (value) => Uint8Array.of(boolean(value, name) ? 1 : 0, 0, 0, 0);
}

const OPTIONS: { readonly [K in keyof CmOptions]-?: OptionRule<NonNullable<CmOptions[K]>> } = {
  tos: {
    option: constants.RDMA_OPTION_ID_TOS,
    bytes: (value) => Uint8Array.of(uint8(value, "tos")),
    obstacle: () => undefined,
  },
  reuseAddr: {
    option: constants.RDMA_OPTION_ID_REUSEADDR,
    bytes: intOf("reuseAddr"),
    obstacle: ({ state }, value) =>
      state === "IDLE" || value && state !== "LISTENING" ? undefined : `its state is ${state}`,
  },
  afOnly: {
    option: constants.RDMA_OPTION_ID_AFONLY,
    bytes: intOf("afOnly"),
    obstacle: ({ state }) =>
      state === "IDLE" || state === "BOUND" ? undefined : `its state is ${state}`,
  },
  ackTimeout: {
    option: constants.RDMA_OPTION_ID_ACK_TIMEOUT,
    bytes: (value) => Uint8Array.of(integer(value, "ackTimeout", 0, 31)),
    obstacle: (id) => serviceOf(id) === "UD" ? "it is for datagrams" : undefined,
  },
};

/** The arguments of `rdma_set_option` for an option. */
interface CmSetting {
  readonly name: string;
  readonly option: number;
  readonly value: Uint8Array<ArrayBuffer>;
}

/** Reads and checks options of an id. */
export function readCmOptions(id: CmFacts, options: CmOptions): CmSetting[] {
  return cutTo(readCmOptions, () => settingsOf(id, options));
}

function settingsOf(id: CmFacts, options: CmOptions): CmSetting[] {
  const names = Object.keys(OPTIONS) as (keyof CmOptions)[];
  const given = snapshot(options, "options", names);
  const settings = names.filter((name) => given[name] !== undefined).map((name) => {
    const { option, bytes, obstacle } = OPTIONS[name] as OptionRule<unknown>;
    return { name, option, value: bytes(given[name]), obstacle };
  });
  for (const { name, obstacle } of settings) {
    const reason = obstacle(id, given[name]);
    if (reason === undefined) continue;
    throw new TypeError(`Cannot set ${name} of connection identifier: ${reason}`);
  }
  return settings;
}

/** How the connections of an id are made: the limits of private data depend on it. */
export function serviceOf({ portSpace, device }: Omit<CmFacts, "state">): CmService {
  if (isOfDatagrams(portSpace)) return "UD";
  return device?.transportType === TransportType.IWARP ? "iWARP" : "RC";
}

/** Whether the ids of a port space are for datagrams, which have no connection. */
export function isOfDatagrams(portSpace: PortSpace): boolean {
  return portSpace === PortSpace.UDP || portSpace === PortSpace.IPOIB;
}
