import { partOf } from "../../internal/left_open.ts";
import { Context, ProtectionDomain, type SendRequestList } from "../../mod.ts";
import { KeepAlive } from "./keep_alive.ts";
import { prepared, SLOTLESS_SENDS } from "./outbox.ts";
import { CONTROL_RECEIVES } from "./protocol.ts";
import type { RcSettings } from "./rc_options.ts";
import { SharedQueues } from "./shared_queue.ts";
import { Slots } from "./slots.ts";

/** What connections of a device share. */
interface Shared {
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

/** The options that all who share a device have in common. */
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

/** The requests that a connection may have under way. */
export function capOf({ credits, sendDepth }: Pick<RcSettings, "credits" | "sendDepth">): {
  readonly maxSendWr: number;
  readonly maxRecvWr: number;
} {
  return { maxSendWr: sendDepth + SLOTLESS_SENDS, maxRecvWr: credits + CONTROL_RECEIVES };
}

/** A device that is open while somebody uses it. All who use it at the same time use the same one, as long as it works. */
export class SharedDevice {
  readonly #settings: DeviceSettings;
  readonly #onUnused: () => void;
  #current: Shared & { users: number } | undefined;

  /** `onUnused` is called when the last use has ended. */
  constructor(settings: DeviceSettings, onUnused: () => void = () => {}) {
    this.#settings = settings;
    this.#onUnused = onUnused;
  }

  /** How many use it. */
  get users(): number {
    return this.#current?.users ?? 0;
  }

  use(): RcDevice {
    if (!this.#isAlive()) this.#current = undefined;
    const shared = this.#current ??= { ...openDevice(this.#settings), users: 0 };
    const { context, queues } = shared;
    shared.users++;
    let isOver = false;
    const end = (): void => {
      // If it fails, at once or when its last wait ends, it can be tried again.
      if (shared.users === (isOver ? 0 : 1)) {
        queues.close();
        context.close();
        if (shared === this.#current) this.#onUnused();
      }
      if (isOver) return;
      isOver = true;
      shared.users--;
    };
    return { ...shared, [Symbol.dispose]: end };
  }

  #isAlive(): boolean {
    try {
      this.#current?.context.queryPort(this.#settings.portNum);
      return true;
    } catch {
      // It is closed, or the device is gone. Another one can have its name now.
      return false;
    }
  }
}

/** The devices of connections that the program opens itself. */
const devices: Map<string, SharedDevice> = new Map();

/** The device of connections that have these options and that no listener makes. */
export function deviceFor(settings: DeviceSettings): SharedDevice {
  const { device, portNum, maxMessage, credits, sendDepth, spinMicroseconds, keepAlive } = settings;
  const numbers = [portNum, maxMessage, credits, sendDepth, spinMicroseconds, keepAlive];
  const key = JSON.stringify([device, ...numbers]);
  const shared = devices.get(key) ?? new SharedDevice(settings, () => devices.delete(key));
  devices.set(key, shared);
  return shared;
}

function openDevice(settings: DeviceSettings): Shared {
  using stack = new DisposableStack();
  const context = stack.use(partOf(Context.open(settings.device)));
  const pd = new ProtectionDomain(context);
  const { maxSendWr, maxRecvWr } = capOf(settings);
  const queues = new SharedQueues(context, maxSendWr + maxRecvWr, settings.spinMicroseconds);
  stack.move();
  const keepAlive = new KeepAlive(settings.keepAlive);
  const slots = new Slots(pd, settings.maxMessage);
  return { context, pd, queues, keepAlive, slots, prepared: prepared() };
}
