/** The network of a host: its addresses and its neighbours. */

import type { Context, GidEntry } from "../../mod.ts";
import { run } from "../device/run.ts";
import { PORT, sysfs, until } from "../device/setup.ts";

/** The network device of the soft-RoCE device. */
export const NETDEV = sysfs("parent");

/** The text of an IP address: that of a GID, without the prefix of IPv4 addresses. */
export function ipOf(gid: { toString(): string }): string {
  return gid.toString().replace("::ffff:", "");
}

/** The family of an IP address. */
export function familyOf(address: string): "ipv4" | "ipv6" {
  return address.includes(":") ? "ipv6" : "ipv4";
}

/** The slot of the GID table that has an address. */
export function slotOf(context: Context, address: string): GidEntry | undefined {
  return context.queryGidTable(PORT).find(({ gid }) => ipOf(gid) === address);
}

/** Adds an address to the host, and waits for its GID. */
export async function addAddress(context: Context, address: string): Promise<GidEntry> {
  await run("ip", "addr", "add", withPrefix(address), "dev", NETDEV);
  await until(`the GID of ${address}`, () => slotOf(context, address) !== undefined);
  return slotOf(context, address)!;
}

/** Removes an address from the host, and waits until its GID is gone. */
export async function removeAddress(context: Context, address: string): Promise<void> {
  await run("ip", "addr", "del", withPrefix(address), "dev", NETDEV);
  await until(`no GID of ${address}`, () => slotOf(context, address) === undefined);
}

function withPrefix(address: string): string {
  return `${address}/${familyOf(address) === "ipv6" ? 64 : 24}`;
}

/** Forgets the link addresses of all neighbours. */
export async function forgetNeighbours(): Promise<void> {
  for (const family of ["-4", "-6"]) await run("ip", family, "neigh", "flush", "dev", NETDEV);
}

/** Whether the kernel knows the link address of a neighbour. */
export function knowsNeighbour(address: string): boolean {
  const { stdout } = new Deno.Command("ip", { args: ["neigh", "show", address, "dev", NETDEV] })
    .outputSync();
  return new TextDecoder().decode(stdout).includes("lladdr");
}

/** Takes away what a case that failed has left. */
export async function restoreAddresses(wanted: readonly string[]): Promise<void> {
  const extra = addresses().filter((address) => !wanted.includes(address));
  for (const address of extra) await run("ip", "addr", "del", address, "dev", NETDEV);
}

/** The addresses of the host, with the lengths of their prefixes. */
export function addresses(): string[] {
  const { stdout } = new Deno.Command("ip", { args: ["-o", "addr", "show", "dev", NETDEV] })
    .outputSync();
  return [...new TextDecoder().decode(stdout).matchAll(/ inet6? (\S+)/g)].map((match) => match[1]!);
}
