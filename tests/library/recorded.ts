import { assertEquals } from "@std/assert";
import * as recorder from "../provider/recorder.ts";
import { Context, ProtectionDomain } from "../../mod.ts";

/** An open recorder with a protection domain. */
export interface Recorded extends Disposable {
  readonly context: Context;
  readonly pd: ProtectionDomain;
}

/** Opens the recorder. At the end nothing may be alive, and no program may have done what none may. */
export function openRecorder(): Recorded {
  recorder.reset();
  const context = Context.open("recorder0");
  const pd = new ProtectionDomain(context);
  // The number of ports is asked for once.
  assertEquals(context.physPortCnt > 0, true);
  recorder.take();
  return {
    context,
    pd,
    [Symbol.dispose]: () => {
      context.close();
      assertEquals(recorder.violations(), []);
      assertEquals(recorder.live(), 0);
    },
  };
}

/** Defines tests that each begin with what `open` makes, and end by disposing it. */
export function testsOn<T extends Disposable>(
  open: () => T,
): { test(title: string, body: (on: T) => void | Promise<void>): void } {
  return {
    test: (title, body) =>
      Deno.test(title, async () => {
        using on = open();
        await body(on);
      }),
  };
}

/** Tests with an open recorder and a protection domain. */
export const onPd = testsOn(openRecorder);
