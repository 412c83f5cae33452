/** What the packets between two hosts must be, for the check by another program. */

/** The number of a host. */
export type Host = 1 | 2;

/** A datagram that was posted, as it must be seen on the network. */
export interface Datagram {
  /** The source address, without the prefix of IPv4 addresses. */
  readonly src: string;
  /** The destination address. */
  readonly dst: string;
  /** The traffic class (IPv6) or TOS (IPv4). */
  readonly trafficClass: number;
  /** The hop limit (IPv6) or TTL (IPv4). */
  readonly hopLimit: number;
  readonly destQp: number;
  readonly qkey: number;
  /** In hexadecimal. */
  readonly payload: string;
}

/** All that a UD queue pair sent, in order: no packet may be missing, and there may be no other one. */
export interface Stream {
  readonly host: Host;
  readonly srcQp: number;
  /** The packet sequence number of the first packet. */
  readonly psn: number;
  readonly packets: readonly Datagram[];
}

/** How a case ended. */
export interface Outcome {
  readonly name: string;
  /** What failed; null if nothing did. */
  readonly problem: string | null;
  /** The number of messages that arrived. */
  readonly messages: number;
  readonly milliseconds: number;
  readonly streams: readonly Stream[];
}
