// Several clients of a server that prints the address of its queue pair. Each one gets its own message back.

import { assertEquals } from "@std/assert";
import { listenUd } from "../../../../net/mod.ts";
import type { QpAddress } from "../../../../mod.ts";
import { QKEY, RXE } from "../../setup.ts";
import type { Program } from "../../programs.ts";

const CLIENTS = 3;
const MESSAGES = 4;

/** Asks the server, and ends it. */
export default async function clients(program: Program): Promise<void> {
  const { gid, lid, qpNum } = JSON.parse((await program.line())!) as QpAddress;
  const server = { transport: "UD", gid: gid!, lid, qpNum, qkey: QKEY } as const;
  await Promise.all(Array.from({ length: CLIENTS }, async (_, client) => {
    using conn = await listenUd({ device: RXE, qkey: QKEY });
    for (let i = 0; i < MESSAGES; i++) {
      const message = new TextEncoder().encode(`message ${i} of client ${client}`);
      await conn.send(message, server);
      const [reply, from] = await conn.receive();
      assertEquals([reply, from.qpNum], [message, qpNum]);
    }
  }));
  await program.kill();
}
