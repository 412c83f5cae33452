import { assertEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import type { AddressHandle } from "../../../mod.ts";
import { RetiredHandles } from "../../../types/reply/retired_handles.ts";

/** Handles that note by number when they are closed. */
function handles(closed: number[], ...numbers: number[]): AddressHandle[] {
  return numbers.map((number) => ({
    [Symbol.dispose]: () => closed.push(number),
  } as unknown as AddressHandle));
}

Deno.test("RetiredHandles closes handles when a second has passed", () => {
  let now = 5000;
  using _clock = stub(Date, "now", () => now);
  const closed: number[] = [];
  const retired = new RetiredHandles(10);
  retired.add(handles(closed, 1, 2));
  now += 500;
  retired.add(handles(closed, 3));
  now += 499;
  retired.trim();
  assertEquals(closed, []);
  now += 1;
  retired.trim();
  assertEquals(closed.sort(), [1, 2]);
  now += 500;
  retired.trim();
  assertEquals(closed.sort(), [1, 2, 3]);
});

Deno.test("RetiredHandles closes the oldest at once when there are too many", () => {
  using _clock = stub(Date, "now", () => 5000);
  const closed: number[] = [];
  const retired = new RetiredHandles(3);
  retired.add(handles(closed, 1, 2));
  retired.add(handles(closed, 3));
  assertEquals(closed, []);
  retired.add(handles(closed, 4));
  assertEquals(closed.sort(), [1, 2]);
  retired.add(handles(closed, 5, 6, 7));
  assertEquals(closed.sort(), [1, 2, 3, 4]);
});

Deno.test("RetiredHandles closes all when it is disposed, once", () => {
  const closed: number[] = [];
  const retired = new RetiredHandles(3);
  retired.add(handles(closed, 1, 2));
  retired[Symbol.dispose]();
  retired[Symbol.dispose]();
  assertEquals(closed.sort(), [1, 2]);
});
