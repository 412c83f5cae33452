// The names and descriptions of errno values.
import { assertEquals, assertGreater } from "@std/assert";
import { errnoDescription, errnoName } from "../../ffi/errno.ts";
import { libc } from "../../ffi/libc.ts";

// It stays open.
libc();

Deno.test("errnoName() has the names of the C library's header", async () => {
  const command = new Deno.Command("gcc", {
    args: ["-E", "-dM", "-x", "c", "/usr/include/errno.h"],
  });
  const text = new TextDecoder().decode((await command.output()).stdout);
  const values = [...text.matchAll(/^#define (E\w+) (\d+)$/gm)];
  assertGreater(values.length, 130);
  for (const [, name, value] of values) assertEquals(errnoName(Number(value)), name);
  for (const value of [-1, 0, 41, 58, 4000, 2 ** 31]) {
    assertEquals(errnoName(value), `errno ${value}`);
  }
});

Deno.test("errnoDescription() describes any value", () => {
  assertEquals([22, 95, 4242].map(errnoDescription), [
    "Invalid argument",
    "Operation not supported",
    "Unknown error 4242",
  ]);
});
