// What the check of the project's files finds.

import { assertEquals } from "@std/assert";
import { clockFaults } from "../../../tools/house/clocks.ts";

/** How many uses of replaceable timers and clocks a line of the library has. */
function uses(line: string, file = "net/example.ts"): number {
  return clockFaults(new Map([[file, line]])).length;
}

Deno.test("A file of the library that uses a timer or a clock of the runtime is found", () => {
  const found = [
    "setTimeout(call, 1);",
    "globalThis.setInterval(call, 1);",
    'globalThis["setImmediate"](call);',
    "const { queueMicrotask } = globalThis;",
    "const later = clearTimeout;",
    "let now = performance.now();",
    "let now = Date.now(), then = new Date();",
    "Deno.unrefTimer(timer);",
    "const signal = AbortSignal.timeout(10);",
  ];
  assertEquals(found.map((line) => [line, uses(line) > 0]), found.map((line) => [line, true]));
  for (
    const file of ["internal/a.ts", "wait/a.ts", "ffi/b/c.ts", "types/d.ts", "net/e.ts", "mod.ts"]
  ) {
    assertEquals([file, uses(found[0]!, file)], [file, 1]);
  }
});

Deno.test("What is taken at the import, types, comments and other packages are no uses", () => {
  const free = [
    "timers.setTimeout(call, 1); clock.now();",
    "let timer: ReturnType<typeof setTimeout> | undefined;",
    "/** `performance.now()` */",
  ];
  assertEquals(free.map((line) => uses(line)), free.map(() => 0));
  for (const file of ["wait/clock.ts", "cli/a.ts", "tests/b.ts", "examples/c.ts"]) {
    assertEquals([file, uses("setTimeout(call, 1);", file)], [file, 0]);
  }
});
