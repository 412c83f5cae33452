import { assertEquals } from "@std/assert";
import { main } from "../../../examples/watch_events.ts";
import { DEVICE, movingLink } from "../moving_link.ts";
import { deviceTest, RXE } from "../setup.ts";
import { linesOf, runHere, startHere, untilPrinted } from "./ladder.ts";

deviceTest(
  "watch_events.ts shows how a link is lost and comes back, until it is ended",
  async () => {
    await using link = await movingLink();
    await using watching = startHere(main, "--device", DEVICE);
    await untilPrinted(watching, `watching ${DEVICE}\n${DEVICE}: port 1 is ACTIVE\n`);
    await link.bounce();
    await untilPrinted(watching, `${DEVICE}: PORT_ERR, port 1 is `);
    await untilPrinted(watching, `${DEVICE}: PORT_ACTIVE, port 1 is ACTIVE\n`);
    await watching[Symbol.asyncDispose]();
    linesOf(await watching.ending);
  },
);

deviceTest("watch_events.ts watches all devices, for as long as it is told", async () => {
  const lines = linesOf(await runHere(main, "-s", "1"));
  assertEquals(lines.includes(`watching ${RXE}`), true);
});
