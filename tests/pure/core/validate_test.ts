import { assertEquals, assertThrows } from "@std/assert";
import {
  integer,
  positiveInt,
  uint16,
  uint24,
  uint32,
  uint64,
  uint8,
} from "../../types/validate.ts";
import { members, nameOf } from "../../types/members.ts";

const RANGES: [(value: number, what: string) => number, number, number][] = [
  [uint8, 0, 0xff],
  [uint16, 0, 0xffff],
  [uint24, 0, 0xff_ffff],
  [uint32, 0, 0xffff_ffff],
  [positiveInt, 1, 0x7fff_ffff],
  [(value, what) => integer(value, what, -5, 5), -5, 5],
];

for (const [check, min, max] of RANGES) {
  Deno.test(`A check from ${min} to ${max} takes its ends, and throws beyond them`, () => {
    assertEquals([check(min, "x"), check(max, "x")], [min, max]);
    for (const value of [min - 1, max + 1]) {
      assertThrows(
        () => check(value, "x"),
        RangeError,
        `Cannot use x ${value}: it is not within ${min} to ${max}`,
      );
    }
  });
}

Deno.test("integer() throws a TypeError when the value is no integer", () => {
  for (const value of [NaN, Infinity, 1.5, "1", 1n, null, undefined, true]) {
    assertThrows(
      () => uint8(value as number, "x"),
      TypeError,
      `Cannot use x ${String(value)}: it is not an integer`,
    );
  }
});

Deno.test("uint64() takes what fits 64 bits, and bigints only", () => {
  const max = 0xffff_ffff_ffff_ffffn;
  assertEquals([uint64(0n, "x"), uint64(max, "x")], [0n, max]);
  for (const value of [-1n, max + 1n]) {
    assertThrows(() => uint64(value, "x"), RangeError, "it does not fit 64 bits");
  }
  for (const value of [1, "1", undefined]) {
    assertThrows(() => uint64(value as unknown as bigint, "x"), TypeError, "it is not a bigint");
  }
});

Deno.test("members() takes the prefix off, and leaves out what has none", () => {
  const values = members({ IBV_A_ONE: 1, IBV_A_TWO: 2, IBV_B_ONE: 3, X_IBV_A_: 4 }, "IBV_A_");
  assertEquals(values, { ONE: 1, TWO: 2 });
  assertThrows(() => {
    (values as { ONE: number }).ONE = 5;
  }, TypeError);
});

Deno.test("nameOf() names a value, or gives its number", () => {
  assertEquals(nameOf({ ONE: 1, TWO: 2 }, 2), "TWO");
  assertEquals(nameOf({ ONE: 1 }, 9), "9");
});
