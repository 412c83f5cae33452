/** The devices and ports that the options of a command name. */

import { Context, type Gid, listDevices } from "../../mod.ts";
import { CommandError, number, type Option, text } from "./command.ts";

/** The options of commands that work on some or all ports. */
export const PORT_OPTIONS: {
  readonly "ib-dev": Option<string>;
  readonly "ib-port": Option<number>;
} = {
  "ib-dev": text("DEVICE", "the device; all devices by default", "d"),
  "ib-port": number("PORT", "the port of the device; all ports by default", [1, 255], "i"),
};

/** Values of {@linkcode PORT_OPTIONS}. */
export interface PortChoice {
  /** The name of the device; all devices if it is undefined. */
  readonly "ib-dev": string | undefined;
  /** The port; all ports if it is undefined. */
  readonly "ib-port": number | undefined;
}

/**
 * Opens the device, or all devices. The stack owns them.
 *
 * @throws {CommandError} If there is no such device, or no device at all.
 */
export function openDevices({ "ib-dev": device }: PortChoice, stack: DisposableStack): Context[] {
  const names = listDevices().map(({ name }) => name);
  if (names.length === 0) throw new CommandError("there are no RDMA devices");
  if (device !== undefined && !names.includes(device)) {
    throw new CommandError(`there is no device "${device}"; devices: ${names.join(", ")}`);
  }
  const chosen = device === undefined ? names : [device];
  return chosen.map((name) => stack.use(Context.open(name)));
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
