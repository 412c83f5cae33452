/** Counters that do not rise on a healthy port, and what it means when they do. */

export interface Meaning {
  /** Files in `counters` and `hw_counters`, of all drivers, or attributes of `ibv_query_port`. */
  readonly counters: readonly string[];
  /** Counters that explain a rise of this one, so that it is not reported twice. */
  readonly explainedBy?: readonly string[];
  readonly problem: string;
  readonly remedy: string;
}

const LOSS = 'packets are lost on the way: "doctor --listen" there and "doctor --peer HOST" here ' +
  "show the direction and the size; then look at the switch (pause frames, ECN)";

/** The most specific counters first: retries are often a consequence of the others. */
export const COUNTERS: Readonly<Record<string, Meaning>> = {
  "wrong-qkey": {
    counters: ["qkeyViolCntr"],
    problem: "datagrams with a wrong Q_Key arrive and are dropped",
    remedy: "the qkey of the sender must be that of the receiver's queue pair",
  },
  "wrong-pkey": {
    counters: ["badPkeyCntr"],
    problem: "packets with a wrong P_Key arrive and are dropped",
    remedy: "both ends need the same P_Key, and one of them must be a full member",
  },
  "no-receive": {
    // The last one is that of Elastic Fabric Adapters. Soft-RoCE counts no datagram that it drops.
    counters: ["send_rnr_err", "out_of_buffer", "rx_drops"],
    problem: "messages arrive for which this host has no receive posted (RNR)",
    remedy: "programs of this host must post receives earlier, or more of them",
  },
  "peer-no-receive": {
    counters: ["rcvd_rnr_err", "rnr_nak_retry_err", "retry_rnr_exceeded_err"],
    problem: "a peer has no receive posted (RNR) for what this host sends",
    remedy: "the program of the peer must post receives earlier, or more of them",
  },
  "bad-icrc": {
    counters: ["rx_icrc_encapsulated"],
    problem: "packets with a wrong ICRC arrive: something on the way changes them",
    remedy: "look for a router or a tunnel that writes into RoCE packets, and for a faulty cable",
  },
  "link-errors": {
    counters: [
      ...["symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors"],
      ...["local_link_integrity_errors", "excessive_buffer_overrun_errors"],
    ],
    problem: "the link has errors",
    remedy: "clean or replace the cable and its transceivers",
  },
  "send-errors": {
    counters: ["send_err", "port_xmit_discards", "port_xmit_constraint_errors"],
    problem: "packets are dropped before they leave this host",
    remedy: "look at the route, the neighbour (ip neigh) and the firewall of this host",
  },
  "out-of-order": {
    counters: [
      ...["out_of_seq_request", "rcvd_seq_err"],
      ...["out_of_sequence", "packet_seq_err", "implied_nak_seq_err"],
    ],
    problem: "packets are missing or come out of order",
    remedy: LOSS,
  },
  "retries": {
    counters: [
      ...["retry_exceeded_err", "completer_retry_err", "duplicate_request"],
      ...["local_ack_timeout_err", "req_transport_retries_exceeded"],
    ],
    explainedBy: ["no-receive", "peer-no-receive"],
    problem: "requests are sent again, because no answer came in time",
    remedy: LOSS,
  },
};

/** All of them. */
export const ERROR_COUNTERS: readonly string[] = Object.values(COUNTERS)
  .flatMap(({ counters }) => counters);
