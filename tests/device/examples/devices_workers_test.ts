// The examples that show devices, their events, and work in several threads.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { main as show } from "../../../examples/devices.ts";
import { main as serve } from "../../../examples/service.ts";
import { main as watch } from "../../../examples/watch_events.ts";
import { main as share } from "../../../examples/workers.ts";
import { listenUd } from "../../../net/mod.ts";
import { freshPort } from "../programs.ts";
import { DEVICE, movingLink } from "../moving_link.ts";
import { deviceTest, gidOf, openRxe, PORT, RXE } from "../setup.ts";
import { linesOf, runHere, startHere, untilPrinted } from "./ladder.ts";

deviceTest("devices.ts shows each GID, and marks the recommended one", async () => {
  const lines = linesOf(await runHere(show, "--device", RXE));
  using context = openRxe();
  assertEquals(lines.slice(0, 2), [`${RXE}: CA, IB`, `  port ${PORT}: ACTIVE, ETHERNET, MTU 1024`]);
  const shown = lines.slice(2, -1).map((line) => {
    const [, mark, index, type, gid] = /^ {4}([* ]) GID (\d+) +(\S+) +(\S+)$/.exec(line)!;
    return [mark === "*", Number(index), type, gid];
  });
  const best = gidOf(context, "ipv4").gidIndex;
  assertEquals(
    shown,
    context.gidTable(PORT).map((
      { gid, gidIndex },
    ) => [gidIndex === best, gidIndex, "ROCE_V2", `${gid}`]),
  );
  assertStringIncludes(lines.at(-1)!, "    * RoCE v2 with an IPv4 address");
});

deviceTest(
  "watch_events.ts shows how a link is lost and comes back, until it is ended",
  async () => {
    await using link = await movingLink();
    await using watching = startHere(watch, "--device", DEVICE);
    await untilPrinted(watching, `watching ${DEVICE}\n${DEVICE}: port 1 is ACTIVE\n`);
    await link.bounce();
    await untilPrinted(watching, `${DEVICE}: PORT_ERR, port 1 is `);
    await untilPrinted(watching, `${DEVICE}: PORT_ACTIVE, port 1 is ACTIVE\n`);
    await watching[Symbol.asyncDispose]();
    linesOf(await watching.ending);
  },
);

deviceTest("watch_events.ts watches all devices, for as long as it is told", async () => {
  const lines = linesOf(await runHere(watch, "-s", "1"));
  assertEquals(lines.includes(`watching ${RXE}`), true);
});

deviceTest(
  "service.ts sends datagrams back, tells it over HTTP, and ends cleanly on SIGTERM",
  async () => {
    const port = freshPort();
    const running = startHere(serve, `--http-port=${port}`, "-d", RXE);
    {
      await using _ = running;
      const page = `http://127.0.0.1:${port}/`;
      await untilPrinted(running, `the address and the counters: ${page}\n`);
      const { address } = await (await fetch(page)).json();
      await using conn = await listenUd({ device: RXE, qkey: 0x1111_1111 });
      await conn.send(Uint8Array.of(1, 2, 3), address);
      const [message] = await conn.receive();
      assertEquals(message, Uint8Array.of(1, 2, 3));
      const { received, sent } = await (await fetch(page)).json();
      assertEquals([received, sent], [1, 1]);
    }
    assertEquals(linesOf(await running.ending).at(-1), "ended: 1 datagrams came, 1 were sent back");
  },
);

deviceTest(
  "workers.ts has each message read by another thread than the one that sent it",
  async () => {
    const lines = linesOf(await runHere(share, "-d", RXE, "--workers=2", "--timeout=60"));
    const read = lines.map((line) =>
      /^worker (\d) reads "hello from worker (\d)" \(19 bytes\)$/.exec(line)!.slice(1).map(Number)
    );
    assertEquals(read.map(([reader]) => reader), [1, 0]);
    assertEquals(read.map(([, sender]) => sender).toSorted(), [0, 1]);
  },
);
