// `deno run --watch` starts a program again in the same process: what the last run had open must not stay.

import { assertEquals } from "@std/assert";
import { repetitions } from "../../rare.ts";
import { HOSTS } from "../cm/cm_device.ts";
import { startDeno } from "../programs.ts";
import { deviceTest, resourceCounts, RXE, until } from "../setup.ts";

const PROGRAM = new URL("watched.ts", import.meta.url).pathname;
const PORT = 7479;
const RESTARTS = repetitions(3, 10);

deviceTest(
  "A program that is watched leaves nothing when it is started again, and gets its port again",
  async () => {
    const before = resourceCounts()[RXE]!;
    const changed = await Deno.makeTempFile();
    try {
      const watch = ["--allow-all", `--watch=${changed}`, "--no-clear-screen"];
      await using running = startDeno(PROGRAM, [HOSTS.IPv4, `${PORT}`], watch);
      assertEquals(await running.line(), "ready");
      const first = resourceCounts()[RXE]!;
      for (let i = 0; i < RESTARTS; i++) {
        await Deno.writeTextFile(changed, `${i}`);
        assertEquals(await running.line(), "ready", `restart ${i}`);
        assertEquals(resourceCounts()[RXE], first, `restart ${i}`);
      }
    } finally {
      await Deno.remove(changed);
    }
    await until("the kernel's counts are as before", () => {
      const now = resourceCounts()[RXE]!;
      return Object.keys(before).every((kind) => before[kind] === now[kind]);
    });
  },
);
