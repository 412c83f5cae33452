/** The devices and ports that the options of a command name. */

import { Context, type Gid, listDevices } from "@rdma/ibverbs";
import { CommandError, number, text, type Values } from "./command.ts";

/** The options of commands that work on some or all ports. */
export const PORT_OPTIONS = {
  "ib-dev": text("DEVICE", "the device; all devices by default", "d"),
  "ib-port": number("PORT", "the port of the device; all ports by default", [1, 255], "i"),
};

/** The device and the port that are chosen; all if they are undefined. */
export type PortChoice = Values<typeof PORT_OPTIONS>;

/**
 * The name of the device, or of all devices.
 *
 * @throws {CommandError} With the status, if there is no such device, or no device at all.
 */
export function namesOf({ "ib-dev": device }: PortChoice, status?: number): string[] {
  const names = listDevices().map(({ name }) => name);
  if (names.length === 0) throw new CommandError("there are no RDMA devices", status);
  if (device === undefined) return names;
  if (names.includes(device)) return [device];
  const all = names.join(", ");
  throw new CommandError(`there is no device "${device}"; devices: ${all}`, status);
}

/** Opens the device, or all devices. The stack owns them. */
export function openDevices(choice: PortChoice, stack: DisposableStack): Context[] {
  return namesOf(choice).map((name) => stack.use(Context.open(name)));
}

/**
 * The numbers of the ports of an open device.
 *
 * @throws {CommandError} If the device does not have the chosen port.
 */
export function portsOf(context: Context, { "ib-port": port }: PortChoice): number[] {
  const { physPortCnt, device } = context;
  if (port === undefined) return Array.from({ length: physPortCnt }, (_, i) => i + 1);
  if (port <= physPortCnt) return [port];
  throw new CommandError(`there is no port ${port}: "${device.name}" has ${physPortCnt}`);
}

/** A GID as eight groups of four digits, none of them left out. */
export function fullGid(gid: Gid): string {
  return gid.bytes.toHex().match(/.{4}/g)!.join(":");
}
