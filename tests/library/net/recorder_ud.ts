// A datagram socket on the recorder, whose requests end when a test says so.
import { assertEquals } from "@std/assert";
import { nextTurn } from "../../../wait/turns.ts";
import { type Optional, WcOpcode, type WcStatus } from "../../../mod.ts";
import type { SrdOptions, UdConn, UdOptions } from "../../../net/mod.ts";
import * as recorder from "../../provider/recorder.ts";

export const QKEY = 7;
/** The queues of a connection, in the order in which it makes them. */
export const [SEND_CQ, RECV_CQ] = ["cq0", "cq1"] as const;

export const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

/** A connection, and the errors that it told of. Nothing of it may be left. */
export class UdBed implements AsyncDisposable {
  readonly outages: string[] = [];
  conn!: UdConn;

  /** Opens a connection with few slots, on a recorder that the caller has reset. */
  static async open<T extends UdOptions>(
    listen: (options: T) => Promise<UdConn>,
    options: Optional<SrdOptions> = {},
  ): Promise<UdBed> {
    const bed = new UdBed();
    const few = { recvDepth: 4, sendDepth: 4, maxQueued: 2 };
    const onOutage = ({ message }: Error): void =>
      void bed.outages.push(message.match(/[A-Z_]+_ERR/)![0]);
    const all = { device: "recorder0", qkey: QKEY, ...few, onOutage, ...options };
    bed.conn = await listen(all as unknown as T);
    return bed;
  }

  /** Ends the send in a slot. */
  endSend(slot: number, status: WcStatus = 0): void {
    const { qpNum } = this.conn.addr;
    recorder.complete(SEND_CQ, { wr_id: slot, status, opcode: WcOpcode.SEND, qp_num: qpNum });
  }

  /** Ends the receive in a slot. */
  endRecv(slot: number, completion: recorder.PushedCompletion = {}): void {
    recorder.complete(RECV_CQ, { wr_id: slot, opcode: WcOpcode.RECV, byte_len: 41, ...completion });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.conn[Symbol.asyncDispose]();
    // Loops of the library that have just ended may have asked for a turn, which may be a timer.
    await nextTurn();
    assertEquals([recorder.live(), recorder.violations()], [0, []]);
  }
}
