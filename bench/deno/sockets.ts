/** Messages by sockets of Deno and of Node, over the loopback device. */

import { createSocket } from "node:dgram";
import { type Echo, exchanging } from "./echo.ts";

const hostname = "127.0.0.1";
const SIZE = 64;
const message = new Uint8Array(SIZE);
const room = new Uint8Array(32 * SIZE);

export function datagram(): Echo {
  const conn = Deno.listenDatagram({ transport: "udp", hostname, port: 0 });
  let server: Deno.NetAddr;
  return {
    address: (conn.addr as Deno.NetAddr).port,
    connect: (remote) => void (server = { transport: "udp", hostname, port: Number(remote) }),
    serve: async (count) => {
      for (let done = 0; done < count; done++) await conn.send(...await conn.receive(room));
    },
    play: exchanging(async (window) => {
      const sent = Array.from({ length: window }, () => conn.send(message, server));
      for (let i = 0; i < window; i++) await conn.receive(room);
      await Promise.all(sent);
    }),
  };
}

/** Node's sockets call back: a server answers all that comes, and what came before a call of `serve()` is counted, too. */
export async function dgram(isServer: boolean): Promise<Echo> {
  const socket = createSocket("udp4");
  await new Promise<void>((resolve) => socket.bind(0, hostname, resolve));
  let [server, missing, done] = [0, 0, () => {}];
  socket.on("message", (message, { port, address }) => {
    if (isServer) socket.send(message, port, address);
    if (--missing === 0) done();
  });
  const serve = async (count: number): Promise<void> => {
    if ((missing += count) > 0) await new Promise<void>((resolve) => done = resolve);
  };
  return {
    address: socket.address().port,
    connect: (remote) => void (server = Number(remote)),
    serve,
    play: exchanging(async (window) => {
      const answered = serve(window);
      for (let i = 0; i < window; i++) socket.send(message, server, hostname);
      await answered;
    }),
  };
}

export function tcp(isServer: boolean): Echo {
  const listener = isServer ? Deno.listen({ hostname, port: 0 }) : undefined;
  let conn: Deno.TcpConn;
  const write = async (bytes: Uint8Array): Promise<void> => {
    for (let done = 0; done < bytes.length;) done += await conn.write(bytes.subarray(done));
  };
  const read = async (): Promise<number> => await conn.read(room) ?? 0;
  return {
    address: listener?.addr.port ?? 0,
    connect: async (remote) => {
      conn = await (listener?.accept() ?? Deno.connect({ hostname, port: Number(remote) }));
      conn.setNoDelay();
    },
    serve: async (count) => {
      for (let left = count * SIZE; left > 0;) {
        const size = await read();
        await write(room.subarray(0, size));
        left -= size;
      }
    },
    play: exchanging(async (window) => {
      await write(room.subarray(0, window * SIZE));
      for (let left = window * SIZE; left > 0;) left -= await read();
    }),
  };
}
