// Names of enum values and flags.
import { assertEquals } from "@std/assert";
import { members, nameOf, namesOf } from "../../../types/core/enums.ts";

const FLAGS = { READ: 1, WRITE: 2, BOTH: 3, HIGH: 0x8000_0000 };

Deno.test("members() takes the values with a prefix, and leaves it out of their names", () => {
  const all = members({ A_ONE: 1, A_TWO: 2, B_ONE: 3 }, "A_");
  assertEquals(all, { ONE: 1, TWO: 2 });
  assertEquals(Object.isFrozen(all), true);
});

Deno.test("nameOf() gives the number when there is no name", () => {
  assertEquals(nameOf(FLAGS, 2), "WRITE");
  assertEquals(nameOf(FLAGS, 7), "7");
});

Deno.test("namesOf() names each flag once, and shows the others as one number", () => {
  assertEquals(namesOf({ READ: 1, WRITE: 2 }, 3), "READ|WRITE");
  assertEquals(namesOf(FLAGS, 0x8000_0001), "READ|HIGH");
  assertEquals(namesOf(FLAGS, 0x8000_0000 | 0), "HIGH");
  assertEquals(namesOf(FLAGS, 0x15), "READ|0x14");
  assertEquals(namesOf(FLAGS, 0), "0");
});
