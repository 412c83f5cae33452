/** Messages by the net module. */

import { connectRc, listenRc, listenUd, type RcConn, type UdConn } from "../../net/mod.ts";
import { type Echo, exchanging } from "./echo.ts";
import { LIST, QKEY, SIZE } from "./end.ts";

const message = new Uint8Array(SIZE);

export async function netUd(): Promise<Echo> {
  const conn = await listenUd({ qkey: QKEY, gidIndex: 0 });
  const room = new Uint8Array(LIST * conn.maxMessage);
  let server: UdConn["addr"];
  return {
    address: conn.addr.qpn,
    connect: (remote) => void (server = { ...conn.addr, qpn: Number(remote) }),
    serve: async (count) => {
      for (let done = 0; done < count;) {
        const messages = await conn.receiveMany(room);
        if (messages.length === 1) await conn.send(...messages[0]!);
        else await conn.sendMany(messages);
        done += messages.length;
      }
    },
    play: exchanging(async (window) => {
      if (window === 1) {
        await conn.send(message, server);
        await conn.receive(room);
        return;
      }
      await conn.sendMany(Array.from({ length: window }, () => [message, server] as const));
      for (let come = 0; come < window;) come += (await conn.receiveMany(room)).length;
    }),
  };
}

export async function netRc(isServer: boolean): Promise<Echo> {
  const listener = isServer ? await listenRc() : undefined;
  let conn: RcConn;
  return {
    address: listener?.addr.port ?? 0,
    connect: async (remote) => {
      conn = await (listener?.accept() ?? connectRc({ tcpPort: Number(remote) }));
    },
    serve: async (count) => {
      for (let done = 0; done < count; done++) await conn.send((await conn.receive())!);
    },
    play: exchanging(async (window) => {
      for (let i = 0; i < window; i++) await conn.send(message);
      for (let i = 0; i < window; i++) await conn.receive();
    }),
  };
}
