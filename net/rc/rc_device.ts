import { Context, ProtectionDomain } from "../../mod.ts";
import { Sharing } from "../shared/shared.ts";
import type { RcSettings } from "./rc_options.ts";

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
