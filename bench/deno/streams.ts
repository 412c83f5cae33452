/** Long messages in one direction, and writes to memory of the other end. One exchange is all of them. */

import type { RemoteMemory } from "../../mod.ts";
import { type Echo, exchanging } from "./echo.ts";
import { overRc } from "./net.ts";
import { read, tcpEnd, write } from "./sockets.ts";

/** The server answers when all messages have come. */
const ANSWER = new Uint8Array(1);

export function netStream(isServer: boolean, size: number): Promise<Echo> {
  return overRc(isServer, { maxMessage: size }, (conn) => {
    const message = new Uint8Array(size);
    return {
      serve: async (count) => {
        for (let come = 0; come < count; come++) await conn.receive(message);
        await conn.send(ANSWER);
      },
      play: exchanging(async (count) => {
        for (let sent = 0; sent < count; sent++) await conn.send(message);
        await conn.receive();
      }),
    };
  });
}

export function tcpStream(isServer: boolean, size: number): Echo {
  return tcpEnd(isServer, (conn) => {
    const room = new Uint8Array(size);
    return {
      serve: async (count) => {
        await read(conn, room, count * size);
        await write(conn, ANSWER);
      },
      play: exchanging(async (count) => {
        for (let sent = 0; sent < count; sent++) await write(conn, room);
        await read(conn, room, ANSWER.length);
      }),
    };
  });
}

/** Writes that are on their way at a time. */
const WRITES = 16;

/** The server does nothing. */
export function netWrite(isServer: boolean, size: number): Promise<Echo> {
  return overRc(isServer, {}, async (conn) => {
    const bytes = new Uint8Array(size);
    const { remote } = await conn.expose(size);
    await conn.send(new TextEncoder().encode(JSON.stringify(remote)));
    const memory: RemoteMemory = JSON.parse(new TextDecoder().decode((await conn.receive())!));
    const writes = { length: WRITES };
    return {
      serve: () => {},
      play: exchanging(async (count) => {
        for (let done = 0; done < count; done += WRITES) {
          await Promise.all(Array.from(writes, () => conn.write(memory, 0, bytes)));
        }
      }),
    };
  });
}
