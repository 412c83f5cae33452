/** Why librdmacm refuses an IP address, or finds no route to it. */

import { mappedIpv4, meansPortInUse, needsInterface, reachOf } from "../../internal/reach.ts";
import { formatAddress, parseAddress } from "../address/ip_address.ts";
import { causeOf, type Causes, type Words } from "../core/causes.ts";
import type { SocketAddress } from "./socket_address.ts";

/** Causes that the address itself shows. */
export const ADDRESS_CAUSES: Causes<SocketAddress> = [
  [
    "EINVAL, ENODEV, ENETUNREACH, EADDRNOTAVAIL",
    "{hostname} reaches one link only, and does not say which: give the network interface as scopeId, or behind the " +
    "address ({hostname}%eth0)",
    ({ hostname, scopeId }) => scopeId === undefined && needsInterface(parseAddress(hostname)),
  ],
  [
    "EINVAL, ENODEV, ENETUNREACH, EADDRNOTAVAIL",
    "{hostname} is a loopback address: it reaches this host only, and the connection manager of Linux does not connect " +
    "by it, not even where an RDMA device is on lo. Use another address of a device, or tcpPort of @rdma/ibverbs/net",
    ({ hostname }) => reachOf(parseAddress(hostname)) === "host",
  ],
  [
    "EINVAL, ENODEV, ENETUNREACH, EADDRNOTAVAIL",
    "{hostname} is an IPv4 address in its IPv6 form: give {ipv4}",
    ipv4Of,
  ],
];

const PORT_USED =
  "This program or another one of this host uses port {port} (rdma resource show cm_id); port 0 lets the system choose";

export const BIND_CAUSES: Causes<SocketAddress> = [
  ["EADDRINUSE", PORT_USED],
  [
    "EADDRNOTAVAIL",
    PORT_USED,
    ({ hostname, port }) => meansPortInUse(parseAddress(hostname), port),
  ],
  [
    "EADDRNOTAVAIL",
    "No RDMA device has {hostname}, or no port of net.ipv4.ip_local_port_range is free",
    ({ port }) => port === 0,
  ],
  [
    "EADDRNOTAVAIL",
    "This program or another one of this host uses port {port} at all addresses (rdma resource show cm_id), or no RDMA " +
    "device has {hostname}",
  ],
];

export const RESOLVE_CAUSES: Causes = [
  [
    "ENETUNREACH, EHOSTUNREACH",
    "No route of this host leads there, or its link is down: see `ip route get` and `ip link`",
  ],
  ["ENODEV, EADDRNOTAVAIL", "No RDMA device has such an address, or leads there: see `rdma link`"],
];

function ipv4Of({ hostname }: SocketAddress): Words | undefined {
  const ipv4 = mappedIpv4(parseAddress(hostname));
  return ipv4 && { hostname, ipv4: formatAddress(ipv4) };
}

/** Why an address of this host was refused. */
export function hintBind(code: string, address: SocketAddress): string | undefined {
  return hintAddress(code, address) ?? causeOf(BIND_CAUSES, code, address) ??
    causeOf(RESOLVE_CAUSES, code, {});
}

/** Why no route to an address was found. The hint names the first address that may be the cause. */
export function hintResolve(
  code: string,
  ...addresses: readonly (SocketAddress | null | undefined)[]
): string | undefined {
  const hints = addresses.map((address) => address ? hintAddress(code, address) : undefined);
  return hints.find((hint) => hint !== undefined) ?? causeOf(RESOLVE_CAUSES, code, {});
}

/** The cause of a failure that an address itself shows. */
export function hintAddress(code: string, address: SocketAddress): string | undefined {
  return causeOf(ADDRESS_CAUSES, code, address);
}
