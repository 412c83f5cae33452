import { constants, structs } from "../../ffi/layout.ts";
import { netdevIndex } from "../../ffi/host.ts";
import { readField } from "../../ffi/struct.ts";
import { quote, show, snapshot, text } from "../../internal/checks.ts";
import { isAny, isGroup, splitZone } from "../../internal/reach.ts";
import { formatAddress, parseAddress } from "../address/ip_address.ts";
import { AttributeCodec } from "../core/attributes.ts";

/**
 * An IP address with a port, as `Deno.NetAddr` has them. `getAddrInfo` makes it from a name.
 *
 * @category Addresses
 */
export interface SocketAddress {
  /** The IPv4 or IPv6 address, not a name. An IPv6 address may have a network interface behind it: `fe80::1%eth0`. */
  readonly hostname: string;
  /** The port, 0 to 65535. For an address of the program's own, 0 lets the system choose one. */
  readonly port: number;
  /**
   * The index of the network interface, for IPv6 addresses that reach one link only (`fe80::`, `ff02::`). Addresses that the
   * library gives have it here, and not in `hostname`.
   */
  readonly scopeId?: number | undefined;
}

const DIGITS = /^\d+$/;

interface Family {
  readonly family: number;
}

const own = true;
const address = { from: bytesOf, to: formatAddress };
const port = { bigEndian: true, required: true } as const;

const ipv4: AttributeCodec<Omit<SocketAddress, "scopeId">, SocketAddress, Family> =
  new AttributeCodec("sockaddr_in", "address", {
    family: { own, field: "sin_family" },
    hostname: { ...address, field: "sin_addr" },
    port: { ...port, field: "sin_port" },
  });

const ipv6: AttributeCodec<SocketAddress, SocketAddress, Family> = new AttributeCodec(
  "sockaddr_in6",
  "address",
  {
    family: { own, field: "sin6_family" },
    hostname: { ...address, field: "sin6_addr" },
    port: { ...port, field: "sin6_port" },
    scopeId: { field: "sin6_scope_id" },
  },
);

/**
 * The C struct of an address.
 *
 * @throws {SyntaxError} If the host name is no IP address.
 * @throws {TypeError} If `hostname` and `scopeId` name two network interfaces.
 * @throws {Deno.errors.NotFound} If this host has no such network interface.
 */
export function sockaddrOf(value: SocketAddress): DataView<ArrayBuffer> {
  const given = snapshot(value, "address", ["hostname", "port", "scopeId"]);
  if (!text(given.hostname, "hostname").includes(":")) {
    return ipv4.write(given, { family: constants.AF_INET }).view;
  }
  const [hostname, zone] = splitZone(given.hostname);
  const named = zone === undefined ? {} : { scopeId: interfaceOf(given, zone) };
  return ipv6.write({ ...given, hostname, ...named }, { family: constants.AF_INET6 }).view;
}

/**
 * The C struct of the address of a group, which has no port. It throws as `sockaddrOf` does.
 *
 * @throws {RangeError} If it is the address of a host. For `::` and `0.0.0.0` InfiniBand chooses a group.
 */
export function groupSockaddrOf(hostname: string): DataView<ArrayBuffer> {
  const address = parseAddress(splitZone(text(hostname, "address"))[0]);
  const sockaddr = sockaddrOf({ hostname, port: 0 });
  if (isGroup(address) || isAny(address)) return sockaddr;
  throw new RangeError(
    `Cannot use address ${
      quote(hostname)
    }: it is no group; those of IPv4 are 224.0.0.0 to 239.255.255.255, those ` +
      "of IPv6 begin with ff",
  );
}

function bytesOf(hostname: unknown): Uint8Array<ArrayBuffer> {
  try {
    return parseAddress(hostname as string);
  } catch (error) {
    if (error instanceof SyntaxError) error.message += "; getAddrInfo() finds that of a name";
    throw error;
  }
}

/** The index of a network interface, which is given by its name or by the index itself. */
function interfaceOf({ hostname, scopeId }: SocketAddress, zone: string): number {
  const index = netdevIndex(zone) || (DIGITS.test(zone) ? Number(zone) : 0);
  if (index === 0) {
    throw new Deno.errors.NotFound(
      `Cannot use hostname ${quote(hostname)}: this host has no network interface ${quote(zone)}`,
    );
  }
  if (scopeId === undefined || scopeId === index) return index;
  throw new TypeError(
    `Cannot use hostname ${quote(hostname)}: scopeId ${show(scopeId)} is another network interface`,
  );
}

/** The address in a C struct; `undefined` if it is of another family, or of none. */
export function readSockaddr(view: DataView<ArrayBuffer>, base = 0): SocketAddress | undefined {
  const family = readField(view, structs.sockaddr_in.fields.sin_family, base);
  const isIPv4 = family === constants.AF_INET;
  if (!isIPv4 && family !== constants.AF_INET6) return undefined;
  const { hostname, port, scopeId = 0 } = (isIPv4 ? ipv4 : ipv6).read(view, base);
  return scopeId === 0 ? { hostname, port } : { hostname, port, scopeId };
}
