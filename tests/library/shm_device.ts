// What device tests have on the device of native speed, which moves messages in place of soft-RoCE, also between processes.
import { assertEquals } from "@std/assert";
import { nextTurn } from "../../wait/turns.ts";
import { standIn } from "../device/stand_in_device.ts";
import { DEVICE, environment } from "../provider/shm.ts";

const { symbols } = Deno.dlopen(environment.IBVERBS_LIBRARY!, {
  recorder_live: { parameters: ["buffer"], result: "u32" },
});

/** Lets programs and Workers that start meanwhile use the device, until it is disposed of. */
function lend(): Disposable {
  const names = Object.keys(environment);
  const before = names.map((name) => Deno.env.get(name));
  for (const [name, value] of Object.entries(environment)) Deno.env.set(name, value);
  return {
    [Symbol.dispose]: () => {
      for (const [i, name] of names.entries()) {
        if (before[i] === undefined) Deno.env.delete(name);
        else Deno.env.set(name, before[i]);
      }
    },
  };
}

standIn.device = DEVICE;
standIn.test = (name, body) =>
  Deno.test(name, async () => {
    using _lent = lend();
    const before = symbols.recorder_live(null);
    await body();
    // Loops of the library that have just ended may have asked for a turn, which may be a timer.
    await nextTurn();
    assertEquals(symbols.recorder_live(null), before, "the test left objects behind");
  });

// Not before: they open libibverbs, or look for the device, when they are imported.
export const { deviceTest: test, makeEnd, pairOf, PORT, QKEY, RXE, udPair, until, waitFor } =
  await import("../device/setup.ts");
export const { denoCommand } = await import("../device/programs.ts");
