import type { Context, ProtectionDomain, SendRequestList } from "../../mod.ts";
import { DeviceUse } from "../shared/device_use.ts";
import { Use } from "../shared/use.ts";
import { KeepAlive } from "./keep_alive.ts";
import { CONTROL_RECEIVES } from "./protocol.ts";
import type { RcSettings } from "./rc_options.ts";
import { prepared, SLOTLESS_SENDS } from "./sender.ts";
import { SharedQueues } from "./shared_queue.ts";
import { Slots } from "./slots.ts";

/** The objects that connections of a device share. */
interface Shared {
  readonly device: DeviceUse;
  readonly context: Context;
  readonly pd: ProtectionDomain;
  readonly queues: SharedQueues;
  readonly keepAlive: KeepAlive;
  readonly slots: Slots;
  /** Requests that have no memory. */
  readonly prepared: SendRequestList;
}

/** The use of a device. Disposing it ends the use; disposing it again does nothing. */
export type RcDevice = Shared & Disposable;

/** The options that all connections that share a device have in common. */
type DeviceSettings = Pick<
  RcSettings,
  | "device"
  | "portNum"
  | "maxMessage"
  | "credits"
  | "sendDepth"
  | "spinMicroseconds"
  | "keepAlive"
>;

/** The requests that a connection may have in progress. */
export function capOf({ credits, sendDepth }: Pick<RcSettings, "credits" | "sendDepth">): {
  readonly maxSendWr: number;
  readonly maxRecvWr: number;
} {
  return { maxSendWr: sendDepth + SLOTLESS_SENDS, maxRecvWr: credits + CONTROL_RECEIVES };
}

/**
 * The objects that connections of a device share. All connections at the same time share the same ones, as long as the
 * device works.
 */
export class SharedDevice {
  readonly #settings: DeviceSettings;
  readonly #onUnused: () => void;
  #current: Shared & { users: number } | undefined;

  /** `onUnused` is called when the last use has ended. */
  constructor(settings: DeviceSettings, onUnused: () => void = () => {}) {
    this.#settings = settings;
    this.#onUnused = onUnused;
  }

  /** How many connections use it. */
  get users(): number {
    return this.#current?.users ?? 0;
  }

  use(): RcDevice {
    // Another device can have its name now.
    if (this.#current?.device.isAlive === false) this.#current = undefined;
    const shared = this.#current ??= { ...openDevice(this.#settings), users: 0 };
    const { device, queues } = shared;
    const use = new Use(shared, () => {
      queues.close();
      device[Symbol.dispose]();
      if (shared === this.#current) this.#onUnused();
    });
    return { ...shared, [Symbol.dispose]: () => use[Symbol.dispose]() };
  }
}

/** The devices of connections that the program opens itself. */
const devices: Map<string, SharedDevice> = new Map();

/** The device of connections that have these options and that no listener makes. */
export function deviceFor(settings: DeviceSettings): SharedDevice {
  const { device, portNum, maxMessage, credits, sendDepth, spinMicroseconds, keepAlive } = settings;
  const numbers = [portNum, maxMessage, credits, sendDepth, spinMicroseconds, keepAlive];
  const key = JSON.stringify([device, ...numbers]);
  const known = devices.get(key);
  if (known !== undefined) return known;
  const shared: SharedDevice = new SharedDevice(settings, () => {
    // A use that is over can be ended again, when there is a new one.
    if (devices.get(key) === shared) devices.delete(key);
  });
  devices.set(key, shared);
  return shared;
}

function openDevice(settings: DeviceSettings): Shared {
  using stack = new DisposableStack();
  const device = stack.use(new DeviceUse(settings.device));
  const { context, pd } = device;
  const { maxSendWr, maxRecvWr } = capOf(settings);
  const queues = new SharedQueues(device, maxSendWr + maxRecvWr, settings.spinMicroseconds);
  stack.move();
  const keepAlive = new KeepAlive(settings.keepAlive);
  const slots = new Slots(pd, settings.maxMessage);
  return { device, context, pd, queues, keepAlive, slots, prepared: prepared() };
}
