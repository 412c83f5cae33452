import { assertEquals } from "@std/assert";
import { RecorderObjects } from "../provider/objects.ts";
import * as recorder from "../provider/recorder.ts";
import { Context, type ProtectionDomain } from "../../mod.ts";
import { settled } from "../../wait/descriptors.ts";
import { nextTurn } from "../../wait/turns.ts";

/** An open recorder with a protection domain. */
export interface Recorded extends Disposable {
  readonly context: Context;
  readonly pd: ProtectionDomain;
}

/** Opens the recorder. At the end nothing may be alive, and no program may have done what none may. */
export function openRecorder(): RecorderObjects {
  const fixture = new RecorderObjects();
  fixture.pd;
  // The number of ports is asked for once.
  assertEquals(fixture.context.physPortCnt > 0, true);
  recorder.take();
  return fixture;
}

/** The parts of a fixture that other fixtures are made from. */
export function partsOf(fixture: RecorderObjects): Recorded {
  const { context, pd } = fixture;
  return { context, pd, [Symbol.dispose]: () => fixture[Symbol.dispose]() };
}

/** Opens the recorder, with a completion queue and a memory region as well. */
export function openWhole(): RecorderObjects {
  const { whole } = openRecorder();
  recorder.take();
  return whole;
}

/** Defines tests that each begin with what `open` makes, and end by disposing it: then nothing may be left. */
export function testsOn<T extends Disposable>(
  open: () => T,
): { test(title: string, body: (on: T) => void | Promise<void>): void } {
  return {
    test: (title, body) =>
      Deno.test(title, async () => {
        {
          using on = open();
          await body(on);
        }
        // A round of descriptors that was interrupted, and a turn that a loop has asked for, end on other threads.
        await settled();
        await nextTurn();
        const left = { live: recorder.live(), violations: recorder.violations() };
        assertEquals(left, { live: 0, violations: [] });
      }),
  };
}

/** Defines tests with an open recorder, a protection domain, and what `make` makes on them. */
export function testsWith<T extends object>(
  make: (fixture: RecorderObjects) => T,
): { test(title: string, body: (on: Recorded & T) => void | Promise<void>): void } {
  return testsOn(() => {
    const fixture = openRecorder();
    const made = make(fixture);
    recorder.take();
    return { ...partsOf(fixture), ...made };
  });
}

/** Tests with an open recorder and a protection domain. */
export const onPd = testsOn(openRecorder);

/** Opens the recorder, and nothing else. */
export function openContext(): Context {
  recorder.reset();
  return Context.open();
}

/** Tests with an open recorder. */
export const onContext = testsOn(openContext);
