import { assertEquals, assertThrows } from "@std/assert";
import { RetiredHandles } from "../../../types/reply/retired_handles.ts";

/** Handles that note by number when they are closed. */
function handles(closed: number[], ...numbers: number[]): Disposable[] {
  return numbers.map((number) => ({ [Symbol.dispose]: () => closed.push(number) }));
}

Deno.test("RetiredHandles.trim() closes handles when the count of answers reaches their end", () => {
  const closed: number[] = [];
  const retired = new RetiredHandles();
  retired.add(handles(closed, 1, 2), 10);
  retired.add(handles(closed, 3), 12);
  const seen = [9, 10, 11, 12].map((answers) => {
    retired.trim(answers);
    return closed.toSorted();
  });
  assertEquals(seen, [[], [1, 2], [1, 2], [1, 2, 3]]);
});

Deno.test("RetiredHandles.trim() closes the other handles when one cannot be closed", () => {
  const closed: number[] = [];
  const retired = new RetiredHandles();
  const failing = {
    [Symbol.dispose]: () => {
      throw new Error("busy");
    },
  };
  retired.add([...handles(closed, 1), failing, ...handles(closed, 2)], 1);
  assertThrows(() => retired.trim(1), Error, "busy");
  assertEquals(closed.sort(), [1, 2]);
  retired.trim(1);
});

Deno.test("RetiredHandles closes all when it is disposed, once", () => {
  const closed: number[] = [];
  const retired = new RetiredHandles();
  retired.add(handles(closed, 1, 2), 1000);
  retired.add(handles(closed, 3), 2000);
  retired[Symbol.dispose]();
  retired[Symbol.dispose]();
  assertEquals(closed.sort(), [1, 2, 3]);
});
