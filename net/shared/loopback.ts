import { Gid } from "../../mod.ts";

/**
 * Refuses a loopback address, by which the connection manager does not connect, not even where a device is on `lo`.
 *
 * @param action What fails, as "look up" and the name that was given.
 * @param instead What else can be given.
 * @throws {Deno.errors.AddrNotAvailable} If it is a loopback address.
 */
export function refuseLoopback(hostname: string, action: string, instead: string): void {
  if (Gid.parse(hostname).reach !== "host") return;
  throw new Deno.errors.AddrNotAvailable(
    `Cannot ${action}: ${hostname} is a loopback address, by which Linux's connection manager does not connect; ` +
      `give ${instead}`,
  );
}
