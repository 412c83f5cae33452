/** Echoes by UDP sockets of Deno, both ends in this process, over the loopback device. */

import { createSocket, type Socket } from "node:dgram";
import type { Context } from "../../../mod.ts";
import { middlePart, type Plan, wholeLists } from "../../deno/clock.ts";
import { SIZE } from "../../deno/datagrams.ts";

const hostname = "127.0.0.1";

function listen(): Deno.DatagramConn {
  return Deno.listenDatagram({ transport: "udp", hostname, port: 0 });
}

let ends: readonly [client: Deno.DatagramConn, server: Deno.DatagramConn] | undefined;

async function serve(server: Deno.DatagramConn): Promise<void> {
  for await (const [message, from] of server) await server.send(message, from);
}

/** `size` datagrams at a time and their answers; for one. */
export async function udpEcho(_context: Context, plan: Plan, size: number): Promise<number> {
  if (ends === undefined) {
    ends = [listen(), listen()];
    void serve(ends[1]);
  }
  const [client, { addr }] = ends;
  const [message, room] = [new Uint8Array(SIZE), new Uint8Array(SIZE)];
  return await middlePart(wholeLists(plan, size), async (count) => {
    for (let done = 0; done < count; done += size) {
      const sent = Array.from({ length: size }, () => client.send(message, addr));
      for (let i = 0; i < size; i++) await client.receive(room);
      await Promise.all(sent);
    }
  });
}

async function bound(): Promise<Socket> {
  const socket = createSocket("udp4");
  await new Promise<void>((resolve) => socket.bind(0, hostname, resolve));
  return socket;
}

let sockets: readonly [client: Socket, server: Socket] | undefined;
/** Called when all answers of a list have come. */
let answered: () => void;
let missing = 0;

async function openSockets(): Promise<readonly [client: Socket, server: Socket]> {
  const [client, server] = [await bound(), await bound()];
  server.on("message", (message, { port, address }) => server.send(message, port, address));
  client.on("message", () => {
    if (--missing === 0) answered();
  });
  return [client, server];
}

/** The same by Node's interface. */
export async function dgramEcho(_context: Context, plan: Plan, size: number): Promise<number> {
  const [client, server] = sockets ??= await openSockets();
  const { port } = server.address();
  const message = new Uint8Array(SIZE);
  return await middlePart(wholeLists(plan, size), async (count) => {
    for (let done = 0; done < count; done += size) {
      missing = size;
      const all = new Promise<void>((resolve) => answered = resolve);
      for (let i = 0; i < size; i++) client.send(message, port, hostname);
      await all;
    }
  });
}
