import type { SocketAddress } from "../../cm.ts";
import { needsInterface } from "../../internal/reach.ts";
import type { Gid } from "../../mod.ts";
import type { LocalPort } from "./ud_address.ts";

/**
 * The IP address of a port, by which the connection manager knows it.
 *
 * @throws {Deno.errors.NotSupported} If it does not know the device, or the GID is no address that it accepts.
 */
export function ownAddress(own: LocalPort, action: string): SocketAddress {
  assertManaged(own, action);
  const { gid, ndevIfindex } = own;
  if (gid.reach === "host") throw unfit(gid, action, "reaches this host only");
  if (!needsInterface(gid.bytes)) return { hostname: ipOf(gid), port: 0 };
  if (ndevIfindex !== 0) return { hostname: ipOf(gid), port: 0, scopeId: ndevIfindex };
  throw unfit(gid, action, "is no IP address of a network interface");
}

/**
 * Checks that the connection manager knows the device of a port.
 *
 * @throws {Deno.errors.NotSupported} If it does not.
 */
export function assertManaged({ provider }: Pick<LocalPort, "provider">, action: string): void {
  if (provider?.unmanaged === undefined) return;
  throw new Deno.errors.NotSupported(`Cannot ${action}: ${provider.unmanaged}`);
}

function unfit(gid: Gid, action: string, why: string): Error {
  return new Deno.errors.NotSupported(
    `Cannot ${action}: ${gid} ${why}; choose another gidIndex`,
  );
}

function ipOf(gid: Gid): string {
  return gid.isIpv4Mapped ? gid.bytes.subarray(12).join(".") : gid.toString();
}
