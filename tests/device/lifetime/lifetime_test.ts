// Processes that end with everything alive and work in progress leave nothing in the kernel, and the next one works.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { startDeno } from "../programs.ts";
import { deviceTest, resourceCounts, RXE, until } from "../setup.ts";

async function leavesNothing(
  program: string,
  args: readonly string[],
  how: unknown,
): Promise<void> {
  const before = resourceCounts()[RXE]!;
  const file = new URL(program, import.meta.url).pathname;
  await using running = startDeno(file, args, ["--allow-all", "--v8-flags=--expose-gc"]);
  const { code, signal, stderr } = await running.ending;
  assertEquals(signal ?? code, how, stderr);
  // An error of its own would end the program with the same status.
  if (how === 1) assertStringIncludes(stderr, "this is a test");
  await until("the kernel's counts are as before", () => {
    const now = resourceCounts()[RXE]!;
    return Object.keys(before).every((kind) => before[kind] === now[kind]);
  });
}

const ENDINGS: Readonly<Record<string, number | string>> = {
  exit: 7,
  throw: 1,
  reject: 1,
  kill: "SIGKILL",
  forget: 0,
};

for (const [ending, how] of Object.entries(ENDINGS)) {
  deviceTest(
    `A process with work in progress leaves nothing when it does "${ending}"`,
    async () => await leavesNothing("endings.ts", [ending], how),
  );
}

// One process: an emulated processor takes seconds to start one.
deviceTest(
  "A process that closes objects with work in progress ends and leaves nothing",
  async () => {
    await leavesNothing("endings.ts", [
      "close the context",
      "close the protection domain",
      "close the memory",
      "close the queue with an unread event",
      "close the address handle",
    ], 0);
  },
);

// One process here as well, which goes on after each Worker.
deviceTest("A Worker that is terminated disturbs nobody", async () => {
  const states = ["holding", "posting", "polling", "waiting", "calling on another thread"];
  await leavesNothing("worker_ending.ts", states, 0);
});
