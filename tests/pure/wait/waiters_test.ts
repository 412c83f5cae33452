// A signal of the program may have methods of its own, which throw.
import { assertEquals, assertRejects } from "@std/assert";
import { orAborted } from "../../../wait/abort.ts";
import { Waiters } from "../../../wait/waiters.ts";

/** A signal that cannot be left. */
function clinging(): AbortSignal {
  const { signal } = new AbortController();
  return Object.defineProperty(signal, "removeEventListener", {
    value: () => {
      throw new Error("no way out");
    },
  });
}

Deno.test("A wait gives its result although the signal cannot be left", async () => {
  const waiters = new Waiters<object, number>();
  const [good, bad] = [{}, {}];
  const waits = [waiters.wait(good, clinging()), waiters.wait(bad, clinging())] as const;
  waiters.resolve(good, 7);
  waiters.reject(bad, new Error("enough"));
  assertEquals(await waits[0], 7);
  await assertRejects(() => waits[1], Error, "enough");
  assertEquals(await orAborted(Promise.resolve(8), clinging()), 8);
});
