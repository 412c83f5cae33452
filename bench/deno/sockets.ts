/** Messages by sockets of Deno and of Node, over the loopback device. */

import { createSocket, type Socket } from "node:dgram";
import { Echo } from "./echo.ts";

const hostname = "127.0.0.1";
const SIZE = 64;

export class DatagramEcho extends Echo {
  readonly #conn: Deno.DatagramConn = Deno.listenDatagram({ transport: "udp", hostname, port: 0 });
  readonly #message = new Uint8Array(SIZE);
  readonly #room = new Uint8Array(SIZE);
  #server!: Deno.NetAddr;

  get address(): number {
    return (this.#conn.addr as Deno.NetAddr).port;
  }

  connect(remote: string): void {
    this.#server = { transport: "udp", hostname, port: Number(remote) };
  }

  async serve(count: number): Promise<void> {
    for (let done = 0; done < count; done++) {
      const [message, from] = await this.#conn.receive(this.#room);
      await this.#conn.send(message, from);
    }
  }

  protected async exchange(window: number): Promise<void> {
    const send = (): Promise<number> => this.#conn.send(this.#message, this.#server);
    const sent = Array.from({ length: window }, send);
    for (let i = 0; i < window; i++) await this.#conn.receive(this.#room);
    await Promise.all(sent);
  }
}

/** It answers all that comes: Node's sockets call back. */
export class DgramEcho extends Echo {
  readonly #socket: Socket;
  readonly #message = new Uint8Array(SIZE);
  #server = 0;
  #missing = 0;
  #done: (() => void) | undefined;

  private constructor(socket: Socket) {
    super();
    this.#socket = socket;
  }

  static async open(): Promise<DgramEcho> {
    const socket = createSocket("udp4");
    await new Promise<void>((resolve) => socket.bind(0, hostname, resolve));
    return new DgramEcho(socket);
  }

  get address(): number {
    return this.#socket.address().port;
  }

  connect(remote: string): void {
    this.#server = Number(remote);
    const isClient = this.#server !== 0;
    this.#socket.on("message", (message, { port, address }) => {
      if (!isClient) this.#socket.send(message, port, address);
      if (--this.#missing === 0) this.#done?.();
    });
  }

  /** What came before the call is counted, too. */
  async serve(count: number): Promise<void> {
    if ((this.#missing += count) <= 0) return;
    await new Promise<void>((resolve) => this.#done = resolve);
  }

  protected async exchange(window: number): Promise<void> {
    const answered = this.serve(window);
    for (let i = 0; i < window; i++) this.#socket.send(this.#message, this.#server, hostname);
    await answered;
  }
}

export class TcpEcho extends Echo {
  readonly #listener: Deno.TcpListener | undefined;
  readonly #room = new Uint8Array(32 * SIZE);
  #conn!: Deno.TcpConn;

  constructor(isServer: boolean) {
    super();
    if (isServer) this.#listener = Deno.listen({ hostname, port: 0 });
  }

  get address(): number {
    return this.#listener?.addr.port ?? 0;
  }

  async connect(remote: string): Promise<void> {
    this.#conn =
      await (this.#listener?.accept() ?? Deno.connect({ hostname, port: Number(remote) }));
    this.#conn.setNoDelay();
  }

  async serve(count: number): Promise<void> {
    for (let left = count * SIZE; left > 0;) left -= await this.#echo();
  }

  async #echo(): Promise<number> {
    const size = await this.#conn.read(this.#room) ?? 0;
    await this.#write(this.#room.subarray(0, size));
    return size;
  }

  async #write(bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length;) done += await this.#conn.write(bytes.subarray(done));
  }

  protected async exchange(window: number): Promise<void> {
    await this.#write(this.#room.subarray(0, window * SIZE));
    for (let left = window * SIZE; left > 0;) left -= await this.#conn.read(this.#room) ?? 0;
  }
}
