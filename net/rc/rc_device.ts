import { Context, ProtectionDomain } from "../../mod.ts";
import type { RcSettings } from "./rc_options.ts";

/** The use of a shared object. Disposing it ends the use; disposing it again does nothing. */
export interface Use<T> extends Disposable {
  /** The object. */
  readonly object: T;
}

/** What {@linkcode Sharing} shares. */
export interface Shareable<T> {
  readonly open: () => T;
  /** Whether the object still works. */
  readonly isAlive: (object: T) => boolean;
  readonly close: (object: T) => void;
}

/** An object that is open while somebody uses it. All who use it at the same time use the same one, as long as it works. */
export class Sharing<T> {
  readonly #of: Shareable<T>;
  #current: { readonly object: T; users: number } | undefined;

  /** Opens nothing yet. */
  constructor(of: Shareable<T>) {
    this.#of = of;
  }

  /** Begins a use. */
  use(): Use<T> {
    const { open, isAlive, close } = this.#of;
    if (this.#current !== undefined && !isAlive(this.#current.object)) this.#current = undefined;
    const shared = this.#current ??= { object: open(), users: 0 };
    shared.users++;
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      // If it fails, it can be tried again.
      if (shared.users === 1) close(shared.object);
      isOver = true;
      shared.users--;
      if (shared.users === 0 && this.#current === shared) this.#current = undefined;
    };
    return { object: shared.object, [Symbol.dispose]: end };
  }
}

/** What the connections of one listener share. */
export interface RcDevice {
  readonly context: Context;
  readonly pd: ProtectionDomain;
}

/** Opens the device when it is used first, and closes it when it is not in use any more. */
export function sharedDevice({ device, port }: RcSettings): Sharing<RcDevice> {
  return new Sharing({
    open: () => {
      using stack = new DisposableStack();
      const context = stack.use(Context.open(device));
      const pd = new ProtectionDomain(context);
      stack.move();
      return { context, pd };
    },
    isAlive: ({ context }) => {
      try {
        context.queryPort(port);
        return true;
      } catch {
        // The device is gone. Another one can have its name now.
        return false;
      }
    },
    close: ({ context }) => context.close(),
  });
}
