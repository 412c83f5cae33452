/** The devices and ports that the options of a command name. */

import { Context, type Gid, listDevices } from "@rdma/ibverbs";
import { quote } from "./text.ts";
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
export function namesOf(choice: PortChoice, status?: number): string[] {
  const names = listDevices().map(({ name }) => name);
  if (names.length === 0) throw new CommandError("there are no RDMA devices", status);
  return chosenNames(names, choice, status);
}

/**
 * The chosen one of the names of devices, or all of them.
 *
 * @throws {CommandError} With the status, if it is not among them.
 */
export function chosenNames(
  names: readonly string[],
  { "ib-dev": device }: PortChoice,
  status?: number,
): string[] {
  if (device === undefined) return [...names];
  if (names.includes(device)) return [device];
  const all = names.join(", ");
  throw new CommandError(`there is no device ${quote(device)}; devices: ${all}`, status);
}

/** Prints why something is not shown. */
export type Report = (error: unknown) => void;

/** Opens a device, and queries the number of ports, which its context keeps. The stack owns it. */
export function openDevice(name: string, stack: DisposableStack): Context {
  const context = stack.use(Context.open(name));
  if (context.physPortCnt === 0) throw new CommandError(`"${name}" has no ports`);
  return context;
}

/**
 * Opens the device, or all devices that can be opened, and reports why others cannot. The stack owns them.
 *
 * @throws If none can be opened.
 */
export function openDevices(choice: PortChoice, stack: DisposableStack, report: Report): Context[] {
  return anyOf(namesOf(choice), (name) => openDevice(name, stack), report);
}

/**
 * Opens the device, or the first one that can be opened, and reports why those before it cannot.
 *
 * @throws If none can be opened.
 */
export function openFirst(device: string | undefined, report: Report): Context {
  const names = device === undefined ? listDevices().map(({ name }) => name) : [device];
  for (const [i, name] of names.entries()) {
    try {
      return Context.open(name);
    } catch (error) {
      if (i === names.length - 1) throw error;
      report(error);
    }
  }
  // It throws, and says why there is none.
  return Context.open();
}

/**
 * The results of `get` for those things for which it succeeds; `report` gets the other errors.
 *
 * @throws If it succeeds for none.
 */
export function anyOf<T, U>(things: readonly T[], get: (thing: T) => U, report: Report): U[] {
  const found: U[] = [];
  const failures: unknown[] = [];
  for (const thing of things) {
    try {
      found.push(get(thing));
    } catch (error) {
      failures.push(error);
    }
  }
  const last = found.length === 0 ? failures.pop() : undefined;
  failures.forEach(report);
  if (last !== undefined) throw last;
  return found;
}

/**
 * The chosen port of devices, or all ports of them. A device that lacks it is skipped if another one has it.
 *
 * @throws {CommandError} With the status, if none has it.
 */
export function chosenPorts(
  contexts: readonly Context[],
  { "ib-port": chosen }: PortChoice,
  status?: number,
): (readonly [context: Context, port: number])[] {
  const ports = contexts.flatMap((context) =>
    Array.from({ length: context.physPortCnt }, (_, i) => [context, i + 1] as const)
  ).filter(([, port]) => chosen === undefined || port === chosen);
  if (ports.length > 0 || chosen === undefined || contexts.length === 0) return ports;
  const counts = contexts.map(({ device, physPortCnt }) => `"${device.name}" has ${physPortCnt}`);
  throw new CommandError(`there is no port ${chosen}: ${counts.join(", ")}`, status);
}

/**
 * The numbers of the ports of an open device.
 *
 * @throws {CommandError} If the device does not have the chosen port.
 */
export function portsOf(context: Context, choice: PortChoice): number[] {
  return chosenPorts([context], choice).map(([, port]) => port);
}

/** A GID as eight groups of four digits, none of them left out. */
export function fullGid(gid: Gid): string {
  return gid.bytes.toHex().match(/.{4}/g)!.join(":");
}
