import { partOf } from "../../internal/left_open.ts";
import { Context, type DeviceInfo, listDevices, ProtectionDomain } from "../../mod.ts";

/** A device that is open, and how many use it. */
interface OpenDevice {
  readonly context: Context;
  users: number;
}

/** The devices that are open, but for those that do not answer any more. */
const devices: Set<OpenDevice> = new Set();

/**
 * The use of a device, which is open while somebody uses it. All who use it at the same time share its context, as long as
 * it works. Each has a protection domain of its own: so the end of one use takes nothing from the others.
 */
export class DeviceUse implements Disposable {
  readonly context: Context;
  readonly pd: ProtectionDomain;
  readonly #device: OpenDevice;
  /** What ends with the use, oldest first. */
  readonly #parts: Disposable[] = [];
  #isOver = false;

  /** Uses the device of a name; without one, the first that has an active port. */
  constructor(name: string | undefined) {
    using stack = new DisposableStack();
    this.#device = findOpen(name) ?? open(name);
    this.#device.users++;
    stack.use(this);
    this.context = this.#device.context;
    this.pd = this.own(new ProtectionDomain(this.context));
    stack.move();
  }

  /** Closes an object with the use. */
  own<T extends Disposable>(part: T): T {
    this.#parts.push(part);
    return part;
  }

  /** Whether the device answers. Another one can have its name when it does not. */
  get isAlive(): boolean {
    return isAlive(this.#device);
  }

  /** Ends the use. Ending it again does nothing, and after a failure tries again what has failed. */
  [Symbol.dispose](): void {
    const failures = this.#parts.toReversed().flatMap(failureOf);
    if (failures.length > 0) throw failures[0];
    const device = this.#device;
    // The last wait for it may end later, and closing it can fail then too.
    if (device.users === (this.#isOver ? 0 : 1)) {
      device.context.close();
      devices.delete(device);
    }
    if (!this.#isOver) device.users--;
    this.#isOver = true;
  }
}

/** Why a part could not be closed. The others are closed all the same. */
function failureOf(part: Disposable): unknown[] {
  try {
    part[Symbol.dispose]();
    return [];
  } catch (error) {
    return [error];
  }
}

/** A device that is open. Without a name, devices before it must be open too: who opens none knows nothing of its ports. */
function findOpen(name: string | undefined): OpenDevice | undefined {
  if (devices.size === 0) return undefined;
  for (const info of listDevices()) {
    if (name !== undefined && info.name !== name) continue;
    const found = openAs(info);
    if (found === undefined || name !== undefined || found.context.hasActivePort) return found;
  }
}

/** The device of a list, if it is open. Names change, and those of devices that are gone are given to others. */
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
  // The devices before one that is open may have been passed over.
  const same = name === undefined ? openAs(context.device) : undefined;
  if (same !== undefined) {
    context.close();
    return same;
  }
  const device = { context, users: 0 };
  devices.add(device);
  return device;
}
