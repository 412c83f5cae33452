// The partition of connections: the index of the P_Key, where it goes, and what a wrong one gives.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertRejects } from "@std/assert";
import { VerbsError } from "../../../mod.ts";
import { connectRc, listenRc, listenSrd, listenUd } from "../../../net/mod.ts";
import type { RecordedStruct } from "../../provider/records.ts";

const device = "recorder0";

/** The P_Key indices of the queue pairs that went to state INIT. */
function indices(): unknown[] {
  return recorder.takeOf("ibv_modify_qp")
    .map(({ args }) => (args["attr"] as RecordedStruct).fields)
    .filter(({ qp_state }) => qp_state === 1)
    .map(({ pkey_index }) => pkey_index);
}

Deno.test("Connections are in the partition that pkeyIndex chooses, by default that of index 0", async () => {
  recorder.reset();
  recorder.connect();
  for (const [options, index] of [[{}, 0], [{ pkeyIndex: 1 }, 1]] as const) {
    recorder.take();
    await using _datagrams = await listenUd({ device, qkey: 1, ...options });
    assertEquals(indices(), [index]);
    await using listener = await listenRc({ device, ...options });
    const { port: tcpPort } = listener.addr;
    const connecting = connectRc({ device, tcpPort, ...options });
    const ends = await Promise.all([connecting, listener.accept()]);
    assertEquals(indices(), [index, index]);
    for (const end of ends) await end.close();
  }
});

Deno.test("A pkeyIndex beyond the table is refused with the size of the table", async () => {
  recorder.reset();
  recorder.answer("ibv_query_port", { pkey_tbl_len: 4 });
  recorder.fail("ibv_modify_qp", "EINVAL");
  const open = (): Promise<unknown> => listenUd({ device, qkey: 1, pkeyIndex: 4 });
  const hint = "pkeyIndex 4 is too large: the P_Key table of the port has 4 entries";
  await assertRejects(open, VerbsError, hint);
  await assertRejects(() => listenRc({ port: 5, pkeyIndex: 1 } as never), TypeError, "pkeyIndex");
  await assertRejects(() => listenSrd({ qkey: 1, pkeyIndex: 2 ** 16 }), RangeError, "pkeyIndex");
});
