/** Why connections fail: what connection managers tell each other when one refuses, and what their silence means. */

/** How long to wait for the event that says why the kernel no longer knows a connection, in milliseconds. */
export const REASON_MS = 1000;

/** Likely causes if the peer does not answer, as a part of a sentence. */
export const SILENT_HOST =
  "the host does not answer: there may be none, it may drop RoCE packets (UDP port 4791), have no kernel module rdma_cm, or a link is down";

/** What the same event, UNREACHABLE, means when a connection exists, since Linux 6.0. */
export const MOVED_NEIGHBOUR =
  "the neighbour's hardware address has changed, and packets still go to the old one: disconnect, and connect again";

/**
 * Reasons of a rejection (REJ), as parts of sentences, by the numbers of the InfiniBand specification.
 *
 * @category Connections
 */
export const REJECT_REASONS: Readonly<Record<number, string>> = {
  1: "the peer has no queue pair left",
  2: "the peer has no end-to-end context of reliable datagrams left",
  3: "the peer has no resources left",
  4: "the peer waited too long for the next message",
  5: "the peer does not support the request",
  6: "the peer does not know the number of the connection",
  7: "the peer does not know the instance of the connection",
  8: "nobody listens on this port of the peer",
  9: "the peer listens for another transport",
  10: "the number of the queue pair belongs to an older connection that has not ended yet",
  11: "the peer does not have this reliable datagram channel",
  12: "the peer does not have this GID",
  13: "the peer does not have this LID",
  14: "the peer does not take this service level",
  15: "the peer does not take this traffic class",
  16: "the peer does not take this hop limit",
  17: "the peer does not take this packet rate",
  18: "the peer does not have the alternative GID",
  19: "the peer does not have the alternative LID",
  20: "the peer does not take the alternative service level",
  21: "the peer does not take the alternative traffic class",
  22: "the peer does not take the alternative hop limit",
  23: "the peer does not take the alternative packet rate",
  24: "the peer redirects to another port, also for connection messages",
  25: "the peer redirects to another port",
  26: "the peer does not take this MTU",
  27: "the peer has not as many responder resources",
  28: "the peer's program does not want it",
  29: "the peer does not accept this RNR retry count",
  30: "the peer has a connection of this number already",
  31: "the peer does not know this version of the request",
  32: "the peer does not take this flow label",
  33: "the peer does not take the alternative flow label",
  35: "the options of the enhanced connection establishment do not fit",
};

/**
 * Why a request for datagrams is refused (SIDR_REP), as parts of sentences, by the numbers of the InfiniBand specification.
 *
 * @category Connections
 */
export const SIDR_STATUSES: Readonly<Record<number, string>> = {
  1: "nobody listens on this port of the peer",
  2: "the peer's program does not want it",
  3: "the peer has no queue pair for it",
  4: "the peer redirects to another port",
  5: "the peer does not know this version of the request",
};
