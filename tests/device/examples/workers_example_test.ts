import { assertEquals } from "@std/assert";
import { main } from "../../../examples/workers.ts";
import { deviceTest, RXE } from "../setup.ts";
import { linesOf, runHere } from "./ladder.ts";

deviceTest(
  "workers.ts has each message read by another thread than the one that sent it",
  async () => {
    const lines = linesOf(await runHere(main, "-d", RXE, "--workers=2", "--timeout=60"));
    const read = lines.map((line) =>
      /^worker (\d) reads "hello from worker (\d)" \(19 bytes\)$/.exec(line)!.slice(1).map(Number)
    );
    assertEquals(read.map(([reader]) => reader), [1, 0]);
    assertEquals(read.map(([, sender]) => sender).toSorted(), [0, 1]);
  },
);
