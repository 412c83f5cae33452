// The recorder moves data from connect() to reset().
import { assertEquals } from "@std/assert";
import { nextTurn } from "../../../wait/turns.ts";
import { LinkLayer } from "../../../mod.ts";
import { listenUd } from "../../../net/mod.ts";
import * as recorder from "../../provider/recorder.ts";

async function exchange(meanwhile: () => void): Promise<void> {
  recorder.reset();
  recorder.answer("ibv_query_port", { link_layer: LinkLayer.ETHERNET });
  recorder.connect();
  {
    await using conn = await listenUd({ device: "recorder0", qkey: 7 });
    meanwhile();
    await conn.send(Uint8Array.of(5), conn.addr);
    const [message] = await conn.receive({ signal: AbortSignal.timeout(10_000) });
    assertEquals(message, Uint8Array.of(5));
  }
  await nextTurn();
  assertEquals([recorder.violations(), recorder.live()], [[], 0]);
}

Deno.test("connect() works in each of thousands of tests of a process", async () => {
  for (let i = 0; i < 4000; i++) {
    recorder.reset();
    recorder.connect();
  }
  await exchange(() => {});
});

// As a second Worker does.
Deno.test("connect() leaves alone what moves data already", async () => {
  await exchange(() => recorder.connect());
});
