/** Echoes through the net module: one connection sends, another one answers, both in this process. */

import { listenUd, type UdConn } from "../../../net/mod.ts";
import type { Context } from "../../../mod.ts";
import { middlePart, type Plan, wholeLists } from "../../deno/clock.ts";
import { LIST, QKEY, SIZE } from "../../deno/datagrams.ts";
import { ownGids } from "./queues.ts";

/** Polls that find nothing before a connection sleeps. The prepared loop of verbs never sleeps. */
const SPIN = 1000;

interface Ends {
  readonly client: UdConn;
  readonly server: UdConn;
}

async function open(context: Context, serve: (server: UdConn) => Promise<void>): Promise<Ends> {
  const { gidIndex } = ownGids(context, 1)[0]!;
  const options = { qkey: QKEY, spin: SPIN, gidIndex };
  const [client, server] = [await listenUd(options), await listenUd(options)];
  void serve(server);
  return { client, server };
}

let single: Promise<Ends> | undefined;

/** One datagram and its answer. */
export async function netEcho(context: Context, plan: Plan): Promise<number> {
  const { client, server: { addr } } = await (single ??= open(context, async (server) => {
    for await (const [message, from] of server) await server.send(message, from);
  }));
  const [message, room] = [new Uint8Array(SIZE), new Uint8Array(SIZE)];
  return await middlePart(plan, async (count) => {
    for (let i = 0; i < count; i++) {
      await client.send(message, addr);
      const [echoed] = await client.receive(room);
      if (echoed.length !== SIZE) throw new Error("Cannot measure: another message came");
    }
  });
}

let many: Promise<Ends> | undefined;

/** 32 datagrams at a time and their answers; for one. */
export async function netEchoMany(context: Context, plan: Plan): Promise<number> {
  const { client, server: { addr } } = await (many ??= open(context, async (server) => {
    const room = new Uint8Array(LIST * server.maxMessage);
    while (true) await server.sendMany(await server.receiveMany(room));
  }));
  const room = new Uint8Array(LIST * client.maxMessage);
  const messages = Array.from({ length: LIST }, () => [new Uint8Array(SIZE), addr] as const);
  return await middlePart(wholeLists(plan, LIST), async (count) => {
    for (let done = 0; done < count; done += LIST) {
      await client.sendMany(messages);
      for (let come = 0; come < LIST;) come += (await client.receiveMany(room)).length;
    }
  });
}
