/** Two hosts agree by lines of JSON over TCP. */

import { lines } from "../../rxe/guest/streams.ts";
import type { Host, Stream } from "./expected.ts";

/** What one side of a case came to. */
export interface Side {
  readonly problem: string | null;
  readonly messages: number;
  readonly streams: readonly Stream[];
}

/** A line: a value of the case, or the end of a side of it. */
type Line = { readonly value: unknown } | { readonly ended: Side };

const PORT = 18_600;
/** Only reached by what hangs; emulated guests are slow. */
const PATIENCE_MS = 120_000;

/** The connection between the two hosts. */
export class Session implements Disposable {
  /** The number of this host. */
  readonly host: Host;
  readonly #conn: Deno.TcpConn;
  readonly #lines: AsyncGenerator<Line, void>;
  /** The end of the other side, if it was read before this side ended. */
  #ended: Side | undefined;

  private constructor(host: Host, conn: Deno.TcpConn) {
    this.host = host;
    this.#conn = conn;
    this.#lines = readLines(conn);
  }

  /** Connects the two hosts. */
  static async open(host: Host): Promise<Session> {
    if (host === 1) return new Session(host, await connect("host2"));
    using listener = Deno.listen({ port: PORT });
    return new Session(host, await within("connection", listener.accept()));
  }

  /** Sends a value to the other host. */
  async send(value: unknown): Promise<void> {
    await this.#write({ value });
  }

  /** Waits for the next value of the other host; throws if its side of the case has ended. */
  async receive<T>(): Promise<T> {
    const line = this.#ended === undefined ? await this.#next() : { ended: this.#ended };
    if ("value" in line) return line.value as T;
    this.#ended = line.ended;
    const how = line.ended.problem === null ? "ended" : "failed";
    throw new Error(`Cannot go on: the other host has ${how}`);
  }

  /** Sends a value, and waits for that of the other host. */
  async swap<T>(value: T): Promise<T> {
    await this.send(value);
    return await this.receive<T>();
  }

  /** Tells the other host how this side of a case ended, and waits for its side. */
  async end(side: Side): Promise<Side> {
    await this.#write({ ended: side });
    let other = this.#ended;
    while (other === undefined) {
      const line = await this.#next();
      if ("ended" in line) other = line.ended;
    }
    this.#ended = undefined;
    return other;
  }

  async #write(line: Line): Promise<void> {
    const bytes = new TextEncoder().encode(`${JSON.stringify(line)}\n`);
    for (let at = 0; at < bytes.length;) at += await this.#conn.write(bytes.subarray(at));
  }

  async #next(): Promise<Line> {
    const { value, done } = await within("word of the other host", this.#lines.next());
    if (done) throw new Error("Cannot go on: the other host has closed the connection");
    return value;
  }

  [Symbol.dispose](): void {
    this.#conn.close();
  }
}

/** The other host may start later. */
async function connect(hostname: string): Promise<Deno.TcpConn> {
  const end = Date.now() + PATIENCE_MS;
  while (true) {
    try {
      return await Deno.connect({ hostname, port: PORT });
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

async function* readLines(conn: Deno.TcpConn): AsyncGenerator<Line, void> {
  for await (const line of lines(conn.readable)) yield JSON.parse(line);
}

async function within<T>(what: string, promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const error = new Error(`Cannot go on: there is no ${what} after ${PATIENCE_MS / 1000} s`);
  const timer = setTimeout(() => reject(error), PATIENCE_MS);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
