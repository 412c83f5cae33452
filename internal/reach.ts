/** How far IP addresses reach. All code that chooses, refuses or explains an address asks here. */

/**
 * How far an IP address reaches: `"host"` is its own host, `"link"` its own link, which no router leaves, and `"networks"`
 * is further networks.
 *
 * @category GIDs and headers
 */
export type Reach = "host" | "link" | "networks";

/** The addresses that start with these bytes. */
type Range = readonly [first: readonly number[], reach: Reach];

const IPV4_RANGES: readonly Range[] = [
  [[127], "host"],
  // Hosts choose these themselves.
  [[169, 254], "link"],
  [[224, 0, 0], "link"],
  [[255, 255, 255, 255], "link"],
];

const LENGTH = { IPV4: 4, IPV6: 16 } as const;
const IPV4_MAPPED: readonly number[] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
const IPV6_LOOPBACK: readonly number[] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

/** The kernel gives this index to the loopback interface of each network namespace. */
export const LOOPBACK_IFINDEX = 1;

/** The bytes of the IPv4 address that an IPv6 address stands for (`::ffff:10.0.0.1`), if it does. */
export function mappedIpv4(address: Uint8Array): Uint8Array | undefined {
  const isMapped = address.length === LENGTH.IPV6 && startsWith(address, IPV4_MAPPED);
  return isMapped ? address.subarray(IPV4_MAPPED.length) : undefined;
}

/**
 * How far an address reaches, of one host or of a group. `::` and `0.0.0.0` stand for all addresses of a host, which may be
 * of further networks.
 *
 * @param address 4 or 16 bytes in network order.
 */
export function reachOf(address: Uint8Array): Reach {
  const ipv4 = address.length === LENGTH.IPV4 ? address : mappedIpv4(address);
  if (ipv4 === undefined) return reachOfIpv6(address);
  return IPV4_RANGES.find(([first]) => startsWith(ipv4, first))?.[1] ?? "networks";
}

/** Whether an address stands for all addresses of a host: `::` or `0.0.0.0`. */
export function isAny(address: Uint8Array): boolean {
  return address.every((byte) => byte === 0);
}

/**
 * Whether EADDRNOTAVAIL, for a bind, means that the port is in use: so says Linux, in place of EADDRINUSE, if one of the
 * two is bound to all addresses.
 */
export function meansPortInUse(address: Uint8Array, port: number): boolean {
  return port !== 0 && isAny(address);
}

/** Whether an address is that of a multicast group. */
export function isGroup(address: Uint8Array): boolean {
  const ipv4 = address.length === LENGTH.IPV4 ? address : mappedIpv4(address);
  return ipv4 === undefined ? address[0] === 0xff : ipv4[0]! >> 4 === 0xe;
}

/** Whether each link has such addresses, so that a network interface has to be named too. */
export function needsInterface(address: Uint8Array): boolean {
  const isIpv6 = address.length === LENGTH.IPV6 && mappedIpv4(address) === undefined;
  return isIpv6 && !startsWith(address, IPV6_LOOPBACK) && reachOf(address) !== "networks";
}

function reachOfIpv6(address: Uint8Array): Reach {
  const [first, second] = [address[0]!, address[1]!];
  if (startsWith(address, IPV6_LOOPBACK)) return "host";
  if (first === 0xfe && second >> 6 === 0b10) return "link";
  // RFC 4291, 2.7: the second half of the second byte is the scope of a group.
  if (first !== 0xff) return "networks";
  const scope = second & 0xf;
  return scope <= 1 ? "host" : scope === 2 ? "link" : "networks";
}

function startsWith(address: Uint8Array, first: readonly number[]): boolean {
  return first.every((byte, i) => address[i] === byte);
}

/** An IPv6 address and its zone, the network interface behind it: `fe80::1%eth0`. Other texts have none. */
export function splitZone(hostname: string): readonly [address: string, zone: string | undefined] {
  const [address, zone] = hostname.split("%", 2) as [string, string?];
  const isZoned = address.includes(":") && zone !== undefined && zone !== "";
  return isZoned ? [address, hostname.slice(address.length + 1)] : [hostname, undefined];
}
