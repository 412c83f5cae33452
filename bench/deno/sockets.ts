/** Messages by sockets of Deno and of Node, over the loopback device. */

import { createSocket } from "node:dgram";
import { type Echo, exchanging, serverOnly } from "./echo.ts";

const hostname = "127.0.0.1";
const SIZE = 64;
const message = new Uint8Array(SIZE);
const room = new Uint8Array(32 * SIZE);

function udpSocket(): Deno.DatagramConn {
  return Deno.listenDatagram({ transport: "udp", hostname, port: 0 });
}

function portOf(conn: Deno.DatagramConn): number {
  return (conn.addr as Deno.NetAddr).port;
}

export function datagram(): Echo {
  const conn = udpSocket();
  let server: Deno.NetAddr;
  return {
    address: portOf(conn),
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

/** A server that answers by another socket than the one that receives. */
export function datagramRelay(): Echo {
  const [conn, other] = [udpSocket(), udpSocket()];
  const serve = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done++) await other.send(...await conn.receive(room));
  };
  return serverOnly(portOf(conn), serve);
}

export async function write(conn: Deno.TcpConn, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length;) done += await conn.write(bytes.subarray(done));
}

/** Reads so many bytes. */
export async function read(conn: Deno.TcpConn, room: Uint8Array, size: number): Promise<void> {
  for (let left = size; left > 0;) left -= await conn.read(room) ?? 0;
}

/** An end of a TCP connection, and what it does when it is connected. */
export function tcpEnd(
  isServer: boolean,
  exchangeOf: (conn: Deno.TcpConn) => Pick<Echo, "serve" | "play">,
): Echo {
  const listener = isServer ? Deno.listen({ hostname, port: 0 }) : undefined;
  let exchange: ReturnType<typeof exchangeOf>;
  return {
    address: listener?.addr.port ?? 0,
    connect: async (remote) => {
      const port = Number(remote);
      const conn = await (listener?.accept() ?? Deno.connect({ hostname, port }));
      conn.setNoDelay();
      exchange = exchangeOf(conn);
    },
    serve: (count) => exchange.serve(count),
    play: (count, window) => exchange.play(count, window),
  };
}

export function tcp(isServer: boolean): Echo {
  return tcpEnd(isServer, (conn) => ({
    serve: async (count) => {
      for (let left = count * SIZE; left > 0;) {
        const size = await conn.read(room) ?? 0;
        await write(conn, room.subarray(0, size));
        left -= size;
      }
    },
    play: exchanging(async (window) => {
      await write(conn, room.subarray(0, window * SIZE));
      await read(conn, room, window * SIZE);
    }),
  }));
}
