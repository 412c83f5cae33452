import { partsOf } from "../../internal/made.ts";
import { textOf } from "../../internal/texts.ts";

/** The parts of a borrowed message. */
export interface Lending {
  /** The bytes: in memory of the device, and in a copy of it when the connection is closed. */
  readonly bytes: () => Uint8Array<ArrayBuffer>;
  /** The memory may be used for another message. */
  readonly giveBack: () => void;
}

/**
 * A received message in the memory that the device has written it to: nothing is copied. `RcConn.borrow` makes it.
 *
 * Disposing it gives the memory back, for another message. Until then the message holds a receive, like one that was
 * not read: a program that borrows many and gives none back slows the peer down, and loses datagrams. So give it back
 * soon, best with `using`. The memory of a message that is never given back is not reused as long as the device is
 * open.
 *
 * A message outlives its connection: when that is closed, `BorrowedMessage.bytes` is a copy.
 *
 * @example Count bytes
 * ```ts
 * import type { RcConn } from "@rdma/ibverbs/net";
 *
 * async function count(conn: RcConn, byte: number): Promise<number> {
 *   let found = 0;
 *   while (true) {
 *     using message = await conn.borrow();
 *     if (message === null) return found;
 *     for (const one of message.bytes) if (one === byte) found++;
 *   }
 * }
 * ```
 *
 * @category Connections
 */
export class BorrowedMessage implements Disposable {
  #lending: Lending | undefined;

  /** @ignore Made by `RcConn.borrow`. */
  constructor(borrowed: "borrow() lends messages") {
    const instead = "borrow() lends messages";
    this.#lending = partsOf<Lending>(borrowed, new.target.name, instead);
  }

  /**
   * The bytes of the message. Use this array only until the message is given back, and not after the connection is
   * closed: after that it shows another message, or has no bytes. Ask for it again after a wait in which the connection
   * may have been closed. Its buffer is that of many messages: do not transfer it to a Worker.
   *
   * @throws {TypeError} If the message was given back.
   */
  get bytes(): Uint8Array<ArrayBuffer> {
    if (this.#lending !== undefined) return this.#lending.bytes().subarray();
    throw new TypeError("Cannot read borrowed message: it was given back");
  }

  /** Gives the memory back. Giving it back again does nothing. */
  close(): void {
    const lending = this.#lending;
    this.#lending = undefined;
    lending?.giveBack();
  }

  /** Gives the memory back, as `BorrowedMessage.close` does. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** The number of bytes, on one line. */
  toString(): string {
    const { name } = this.constructor;
    if (this.#lending === undefined) return `${name} { given back }`;
    return textOf(name, { length: this.bytes.length });
  }

  /** The same for `console.log`. */
  [Symbol.for("Deno.customInspect")](): string {
    return this.toString();
  }
}
