/** Echoes through the net module: one connection sends, another one answers, both in this process. */

import { listenUd, type UdConn } from "../../../net/mod.ts";
import type { Context } from "../../../mod.ts";
import { middlePart, type Plan } from "../../deno/clock.ts";
import { ownGids, QKEY, SIZE } from "./queues.ts";

/** Polls that find nothing before a connection sleeps. The prepared loop of verbs never sleeps. */
const SPIN = 1000;

let client: UdConn | undefined;
let server: UdConn;

async function serve(): Promise<void> {
  for await (const [message, from] of server) await server.send(message, from);
}

export async function netEcho(context: Context, plan: Plan): Promise<number> {
  if (client === undefined) {
    const { gidIndex } = ownGids(context, 1)[0]!;
    const options = { qkey: QKEY, spin: SPIN, gidIndex };
    server = await listenUd(options);
    client = await listenUd(options);
    void serve();
  }
  const { addr } = server;
  const message = new Uint8Array(SIZE);
  const room = new Uint8Array(SIZE);
  return await middlePart(plan, async (count) => {
    for (let i = 0; i < count; i++) {
      await client!.send(message, addr);
      const [echoed] = await client!.receive(room);
      if (echoed.length !== SIZE) throw new Error("Cannot measure: another message came");
    }
  });
}
