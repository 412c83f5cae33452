/** Messages by the net module. */

import {
  connectRc,
  listenRc,
  listenUd,
  type RcConn,
  type RcOptions,
  type UdConn,
  type UdOptions,
} from "../../net/mod.ts";
import { type Echo, exchanging, serverOnly } from "./echo.ts";
import { LIST, QKEY, SIZE } from "./end.ts";

const message = new Uint8Array(SIZE);

function netSocket(options?: Partial<UdOptions>): Promise<UdConn> {
  return listenUd({ qkey: QKEY, gidIndex: 0, ...options });
}

export async function netUd(options?: Partial<UdOptions>): Promise<Echo> {
  const conn = await netSocket(options);
  const room = new Uint8Array(LIST * conn.maxMessage);
  let server: UdConn["addr"];
  return {
    address: conn.addr.qpNum,
    connect: (remote) => void (server = { ...conn.addr, qpNum: Number(remote) }),
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

/** A server that answers by another socket than the one that receives. */
export async function netRelay(): Promise<Echo> {
  const [conn, other] = [await netSocket(), await netSocket()];
  const room = new Uint8Array(conn.maxMessage);
  const serve = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done++) await other.send(...await conn.receive(room));
  };
  return serverOnly(conn.addr.qpNum, serve);
}

type Exchange = Pick<Echo, "serve" | "play">;

/** An end of a connection, and what it does when it is connected. */
export async function overRc(
  isServer: boolean,
  options: RcOptions,
  exchangeOf: (conn: RcConn) => Exchange | Promise<Exchange>,
): Promise<Echo> {
  const listener = isServer ? await listenRc(options) : undefined;
  let exchange: Exchange;
  return {
    address: listener?.addr.port ?? 0,
    connect: async (remote) => {
      const accepted = listener?.accept() ?? connectRc({ tcpPort: Number(remote), ...options });
      exchange = await exchangeOf(await accepted);
    },
    serve: (count) => exchange.serve(count),
    play: (count, window) => exchange.play(count, window),
  };
}

export function netRc(isServer: boolean): Promise<Echo> {
  const room = new Uint8Array(SIZE);
  return overRc(isServer, {}, (conn) => ({
    serve: async (count) => {
      for (let done = 0; done < count; done++) await conn.send((await conn.receive(room))!);
    },
    play: exchanging(async (window) => {
      for (let i = 0; i < window; i++) await conn.send(message);
      for (let i = 0; i < window; i++) await conn.receive(room);
    }),
  }));
}
