import { partOf } from "../../internal/left_open.ts";
import { Context, type DeviceInfo, listDevices, ProtectionDomain } from "../../mod.ts";
import { Use } from "./use.ts";

/** An open device, and the number of its uses. */
interface OpenDevice {
  readonly context: Context;
  users: number;
}

/** The open devices, except those that no longer answer. */
const devices: Set<OpenDevice> = new Set();

/**
 * A use of a device, which is open while it has uses. All uses at the same time share its context, as long as it works.
 * Each has a protection domain of its own, so the end of one use does not affect the others.
 */
export class DeviceUse implements Disposable {
  readonly context: Context;
  readonly pd: ProtectionDomain;
  readonly #device: OpenDevice;
  readonly #use: Use;
  /** Objects to close with the use, oldest first. */
  readonly #parts: Disposable[] = [];

  /** Uses the device with a name; without a name, the first one that has an active port. */
  constructor(name: string | undefined) {
    using stack = new DisposableStack();
    const device = this.#device = findOpen(name) ?? open(name);
    this.#use = new Use(device, () => {
      device.context.close();
      devices.delete(device);
    });
    stack.use(this);
    this.context = device.context;
    this.pd = this.own(new ProtectionDomain(this.context));
    stack.move();
  }

  /** Closes an object with the use. */
  own<T extends Disposable>(part: T): T {
    this.#parts.push(part);
    return part;
  }

  /** Whether it is not over and the device answers. If not, another device may have its name. */
  get isAlive(): boolean {
    return !this.#use.isOver && isAlive(this.#device);
  }

  /** Ends the use. Ending it again does nothing, and after a failure tries again what has failed. */
  [Symbol.dispose](): void {
    const failures = this.#parts.toReversed().flatMap(failureOf);
    if (failures.length > 0) throw failures[0];
    this.#use[Symbol.dispose]();
  }
}

/** Closes a part. Returns the error if that fails, so that the others are still closed. */
function failureOf(part: Disposable): unknown[] {
  try {
    part[Symbol.dispose]();
    return [];
  } catch (error) {
    return [error];
  }
}

/** Finds an open device. Without a name, the devices before it must be open too: the ports of others are not known. */
function findOpen(name: string | undefined): OpenDevice | undefined {
  if (devices.size === 0) return undefined;
  for (const info of listDevices()) {
    if (name !== undefined && info.name !== name) continue;
    const found = openAs(info);
    if (found === undefined || name !== undefined || found.context.hasActivePort) return found;
  }
}

/** The open device for an entry of the list. Names change, and other devices may get those of devices that are gone. */
function openAs({ name, index }: DeviceInfo): OpenDevice | undefined {
  for (const open of devices) {
    const { device } = open.context;
    if (device.name === name && device.index === index && isAlive(open)) return open;
  }
}

function isAlive(device: OpenDevice): boolean {
  try {
    device.context.queryPort(1);
    return true;
  } catch {
    // It is closed, or the device is gone.
    devices.delete(device);
    return false;
  }
}

function open(name: string | undefined): OpenDevice {
  const context = partOf(Context.open(name));
  // The devices before one that is open may have been skipped.
  const same = name === undefined ? openAs(context.device) : undefined;
  if (same !== undefined) {
    context.close();
    return same;
  }
  const device = { context, users: 0 };
  devices.add(device);
  return device;
}
