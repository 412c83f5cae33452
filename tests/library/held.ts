import { stub } from "@std/testing/mock";
import { nonblocking } from "../../ffi/library.ts";

/** Modifications that are held. */
export interface Held extends Disposable {
  readonly started: () => number;
  readonly go: () => void;
  /** Waits until the calls have ended, and the library knows it. */
  readonly ended: () => Promise<void>;
}

/** Holds modifications on other threads until the test lets them go. */
export function held(): Held {
  const modify = nonblocking().ibv_modify_qp;
  const { promise, resolve } = Promise.withResolvers<void>();
  const calls = stub(nonblocking(), "ibv_modify_qp", async (...args) => {
    await promise;
    return await modify(...args);
  });
  return {
    started: () => calls.calls.length,
    go: resolve,
    ended: async () => {
      await Promise.all(calls.calls.map(({ returned }) => returned));
      await new Promise((resolve) => setTimeout(resolve));
    },
    [Symbol.dispose]: () => calls.restore(),
  };
}
