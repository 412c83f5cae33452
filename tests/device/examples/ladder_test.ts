// Each example does what its first lines say on rxe. The library tests have ends that meet over TCP, and Workers.
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { main as serve } from "../../../examples/service.ts";
import { listenUd } from "../../../net/mod.ts";
// librdmacm keeps the device open: not within a test.
import "../cm/cm_device.ts";
import { freshPort, startExample, untilListening } from "../programs.ts";
import { deviceTest, QKEY, RXE } from "../setup.ts";
import { calls, STUB, stubTest } from "../stub.ts";
import { printed, ROWS, testAlone } from "./ladder.ts";

// An emulated processor takes 14 s for it, most of them to start Workers.
for (const name of Object.keys(ROWS).filter((name) => name !== "workers")) testAlone(name);

deviceTest(
  "service.ts sends datagrams back, tells it over HTTP, and ends cleanly on SIGTERM",
  async () => {
    const port = freshPort();
    const { stdout } = await printed(async () => {
      const serving = serve([`--http-port=${port}`, "-d", RXE]);
      await untilListening(port);
      const { address } = await (await fetch(`http://127.0.0.1:${port}/`)).json();
      await using conn = await listenUd({ device: RXE, qkey: QKEY });
      await conn.send(Uint8Array.of(1, 2, 3), address);
      assertEquals((await conn.receive())[0], Uint8Array.of(1, 2, 3));
      Deno.kill(Deno.pid, "SIGTERM");
      return await serving;
    });
    assertMatch(stdout, /^ended: 1 datagrams came, 1 were sent back$/m);
  },
);

deviceTest("multicast_chat.ts sends lines to the group, and ends with its input", async () => {
  await using chat = startExample("multicast_chat", ["-d", RXE], ["--allow-ffi"]);
  assertMatch((await chat.line())!, /^group ::ffff:239\.1\.2\.3, you are /);
  await chat.write("Grüße\n");
  await chat.endInput();
  const { code, stderr } = await chat.ending;
  assertEquals([code, stderr], [0, ""]);
});

stubTest("rss_table.ts makes the table it shows on the first device that can do RSS", async () => {
  const flow = "66.9.149.187:2794 > 161.142.100.80:1766 tcp";
  const args = ["--queues", "3", "--entries", "8", flow];
  await using program = startExample("rss_table", args, ["--allow-ffi"]);
  const { code, stdout, stderr } = await program.ending;
  assertEquals(code, 0, stderr);
  const wqs = calls("create_wq").map((call) => call.wq);
  const [table] = calls("create_rwq_ind_table");
  assertEquals(table!.wqs, Array.from({ length: 8 }, (_, entry) => wqs[entry % 3]));
  assertStringIncludes(stdout, `RSS of ${STUB}`);
  // entry 0, of the published hash 51ccc178
  assertStringIncludes(stdout, `51ccc178     0 ${String(wqs[0]).padStart(5)}  ${flow}\n`);
});
