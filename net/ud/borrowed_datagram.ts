import { partsOf } from "../../internal/made.ts";
import { BorrowedMessage, type Lending } from "../shared/borrowed.ts";
import type { UdAddress } from "./ud_address.ts";

/** The parts of a borrowed datagram. */
export interface DatagramLending extends Lending {
  readonly from: UdAddress;
}

/**
 * A received datagram in the memory that the device has written it to. `UdConn.borrow` makes it. Borrowed datagrams
 * count towards the `maxQueued` that may wait.
 *
 * @example Answer without a copy of what was received
 * ```ts
 * import type { UdConn } from "@rdma/ibverbs/net";
 *
 * async function echo(conn: UdConn): Promise<void> {
 *   while (true) {
 *     using datagram = await conn.borrow();
 *     await conn.send(datagram.bytes, datagram.from);
 *   }
 * }
 * ```
 *
 * @category Datagrams
 */
export class BorrowedDatagram extends BorrowedMessage {
  /** The address of its sender. */
  readonly from: UdAddress;

  /** @ignore Made by `UdConn.borrow`. */
  constructor(borrowed: "borrow() lends messages") {
    super(borrowed);
    this.from = partsOf<DatagramLending>(borrowed, "BorrowedDatagram", borrowed).from;
  }
}
