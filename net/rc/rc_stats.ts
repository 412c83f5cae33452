/**
 * Counters of a connection.
 *
 * @category Connections
 */
export interface RcStats {
  /** Messages that have come. */
  readonly received: number;
  /** Their bytes. */
  readonly bytesReceived: number;
  /** Messages that were posted to be sent. */
  readonly sent: number;
  /** Their bytes. */
  readonly bytesSent: number;
  /** Writes of the peer that have a number (`imm`), which `RcConn.writes` gives. */
  readonly writesReceived: number;
  /** Writes of this end that have a number and were posted. */
  readonly writesSent: number;
  /** Messages and writes that have come and were not taken, or are borrowed. Each of them holds a receive. */
  readonly waiting: number;
  /** How many messages and writes with a number this end may send now before the peer takes some. */
  readonly credits: number;
  /** How many of them this end has promised to take and the peer has not yet sent. */
  readonly promised: number;
  /** The bytes of registered memory that messages of the connection use now: when it is closed, those that are borrowed. */
  readonly memory: number;
}
