import type { CmId, SocketAddress } from "../../cm.ts";
import { meansPortInUse } from "../../internal/reach.ts";
import { parseAddress, VerbsError } from "../../mod.ts";

/**
 * Binds an id to the address that peers ask for.
 *
 * @throws {Deno.errors.AddrInUse} If another program uses the port, in place of the error of C: so do Deno's sockets.
 */
export function bind(id: CmId, address: SocketAddress): void {
  try {
    id.bindAddr(address);
  } catch (error) {
    if (!(error instanceof VerbsError) || !meansUsed(error.code, address)) throw error;
    throw new Deno.errors.AddrInUse(error.message, { cause: error });
  }
}

function meansUsed(code: string, { hostname, port }: SocketAddress): boolean {
  return code === "EADDRINUSE" ||
    code === "EADDRNOTAVAIL" && meansPortInUse(parseAddress(hostname), port);
}
