// What "deno task quick" shows of a run of tests.
import { assertEquals } from "@std/assert";
import { brief } from "../../../tools/tests/brief.ts";

const OUTPUT = `\x1b[38;5;245mrunning 4 tests from ./tests/a_test.ts\x1b[0m
good ...
------- output -------

hello
----- output end -----
good ... \x1b[32mok\x1b[0m \x1b[38;5;245m(75µs)\x1b[0m
bad ... ok (1ms) ...
------- output -------
seen
----- output end -----
bad ... ok (1ms) ... \x1b[31mFAILED\x1b[0m (61µs)
steps ...
  one ... ok (0ms)
  two ... FAILED (0ms)
steps ... FAILED (due to 1 failed step) (97µs)
left out ... ignored (0ms)
running 1 test from ./tests/b_test.ts
good ... ok (38µs)
Uncaught error from ./tests/c_test.ts FAILED
running 1 test from ./tests/d_test.ts
this test ends the process

 ERRORS 

bad ... ok (1ms) => ./tests/a_test.ts:2:6
error: Error: running 4 tests from here

FAILED | 2 passed (1 step) | 3 failed (1 step) | 1 ignored (649ms)
`;

const SHOWN = `bad ... ok (1ms) ...
------- output -------
seen
----- output end -----
bad ... ok (1ms) ... \x1b[31mFAILED\x1b[0m (61µs)
steps ...
  one ... ok (0ms)
  two ... FAILED (0ms)
steps ... FAILED (due to 1 failed step) (97µs)
tests/a_test.ts: 1 passed, 2 FAILED, 1 ignored, TIME
Uncaught error from ./tests/c_test.ts FAILED
tests/b_test.ts: 1 passed, TIME
this test ends the process
tests/d_test.ts: 0 passed, TIME
 ERRORS 

bad ... ok (1ms) => ./tests/a_test.ts:2:6
error: Error: running 4 tests from here

FAILED | 2 passed (1 step) | 3 failed (1 step) | 1 ignored (649ms)
`;

async function shown(output: string): Promise<string> {
  const lines = ReadableStream.from(output.split("\n").slice(0, -1));
  const all = await Array.fromAsync(brief(lines), (line) => line.replace(/\d+\.\d s$/, "TIME"));
  return all.map((line) => `${line}\n`).join("");
}

Deno.test("brief() shows a line for each file, and all of what fails", async () => {
  assertEquals(await shown(OUTPUT), SHOWN);
});

Deno.test("brief() shows the file in which a process ends", async () => {
  const start = "running 2 tests from ./tests/a_test.ts\ngood ... ok (1ms)\nlast words\n";
  assertEquals(await shown(start), "last words\ntests/a_test.ts: 1 passed, TIME\n");
});
