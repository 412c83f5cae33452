/** What an attempt to connect waits for, as the end of a sentence: the likely reason if it takes too long. */
export interface Late {
  /** Empty, or with a colon before it. */
  reason: string;
}

/** The peer is silent on its TCP connection. */
export const NO_ADDRESS =
  ": the peer has not sent its address. Its program may hang, or not be one of this library";

/** The peer is silent on the connection of the queue pair. */
export const ANSWERED =
  ": the peer has answered, and then sent no first message. Its program may hang, or packets of the " +
  "connection are dropped (UDP port 4791)";
