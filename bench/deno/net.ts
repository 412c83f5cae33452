/** Messages by the net module. */

import {
  connectRc,
  listenRc,
  listenUd,
  type RcConn,
  type RcListener,
  type UdConn,
} from "../../net/mod.ts";
import { Echo } from "./echo.ts";
import { LIST, QKEY, SIZE } from "./end.ts";

export async function openUd(): Promise<Echo> {
  return new UdEcho(await listenUd({ qkey: QKEY, gidIndex: 0 }));
}

class UdEcho extends Echo {
  readonly #conn: UdConn;
  readonly #message = new Uint8Array(SIZE);
  readonly #room: Uint8Array<ArrayBuffer>;
  #server!: UdConn["addr"];

  constructor(conn: UdConn) {
    super();
    this.#conn = conn;
    this.#room = new Uint8Array(LIST * conn.maxMessage);
  }

  get address(): number {
    return this.#conn.addr.qpn;
  }

  connect(remote: string): void {
    this.#server = { ...this.#conn.addr, qpn: Number(remote) };
  }

  async serve(count: number): Promise<void> {
    for (let done = 0; done < count;) {
      const messages = await this.#conn.receiveMany(this.#room);
      const [first] = messages;
      if (messages.length === 1) await this.#conn.send(...first!);
      else await this.#conn.sendMany(messages);
      done += messages.length;
    }
  }

  protected async exchange(window: number): Promise<void> {
    if (window === 1) {
      await this.#conn.send(this.#message, this.#server);
      await this.#conn.receive(this.#room);
      return;
    }
    const datagram = [this.#message, this.#server] as const;
    await this.#conn.sendMany(Array.from({ length: window }, () => datagram));
    for (let come = 0; come < window;) come += (await this.#conn.receiveMany(this.#room)).length;
  }
}

export async function openRc(isServer: boolean): Promise<Echo> {
  return new RcEcho(isServer ? await listenRc() : undefined);
}

class RcEcho extends Echo {
  readonly #listener: RcListener | undefined;
  readonly #message = new Uint8Array(SIZE);
  #conn!: RcConn;

  constructor(listener: RcListener | undefined) {
    super();
    this.#listener = listener;
  }

  get address(): number {
    return this.#listener?.addr.port ?? 0;
  }

  async connect(remote: string): Promise<void> {
    this.#conn = await (this.#listener?.accept() ?? connectRc({ tcpPort: Number(remote) }));
  }

  async serve(count: number): Promise<void> {
    for (let done = 0; done < count; done++) {
      await this.#conn.send((await this.#conn.receive())!);
    }
  }

  protected async exchange(window: number): Promise<void> {
    for (let i = 0; i < window; i++) await this.#conn.send(this.#message);
    for (let i = 0; i < window; i++) await this.#conn.receive();
  }
}
