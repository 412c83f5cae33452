import { partOf } from "../../internal/left_open.ts";
import { Context, ProtectionDomain } from "../../mod.ts";
import type { RcSettings } from "./rc_options.ts";

/** The use of a device. Disposing it ends the use; disposing it again does nothing. */
export interface RcDevice extends Disposable {
  readonly context: Context;
  readonly pd: ProtectionDomain;
}

/** A device that is open while somebody uses it. All who use it at the same time use the same one, as long as it works. */
export class SharedDevice {
  readonly #settings: Pick<RcSettings, "device" | "portNum">;
  #current: { readonly context: Context; readonly pd: ProtectionDomain; users: number } | undefined;

  constructor(settings: Pick<RcSettings, "device" | "portNum">) {
    this.#settings = settings;
  }

  use(): RcDevice {
    if (!this.#isAlive()) this.#current = undefined;
    const shared = this.#current ??= { ...openDevice(this.#settings.device), users: 0 };
    const { context, pd } = shared;
    shared.users++;
    let isOver = false;
    const end = (): void => {
      // If it fails, at once or when its last wait ends, it can be tried again.
      if (shared.users === (isOver ? 0 : 1)) context.close();
      if (isOver) return;
      isOver = true;
      shared.users--;
    };
    return { context, pd, [Symbol.dispose]: end };
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

function openDevice(name: string | undefined): { context: Context; pd: ProtectionDomain } {
  using stack = new DisposableStack();
  const context = stack.use(partOf(Context.open(name)));
  const pd = new ProtectionDomain(context);
  stack.move();
  return { context, pd };
}
