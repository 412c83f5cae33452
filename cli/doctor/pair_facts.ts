/** What the doctors of two hosts know about each other. It is gathered before any check, as the facts of a host are. */

import type { Finding } from "./finding.ts";

export interface PairFacts {
  /** The name or the address of the other host. */
  readonly host: string;
  readonly here: SideFacts;
  readonly there: SideFacts;
  /** The GIDs that the messages go between; null if the two sides have none that fit. */
  readonly gids: { readonly here: string; readonly there: string } | null;
  /** Bytes of the MTU that both ports have. */
  readonly mtu: number;
  /** Messages from here to there. */
  readonly out: readonly Probe[];
  /** Messages from there to here. */
  readonly in: readonly Probe[];
}

/** One side, as it describes itself to the other one. */
export interface SideFacts {
  /** What the doctor of that side finds there. */
  readonly findings: readonly Finding[];
  /** The port that messages use; null if none works. */
  readonly port: PairPort | null;
}

export interface PairPort {
  readonly device: string;
  readonly port: number;
  readonly isRoce: boolean;
  /** The active MTU in bytes. */
  readonly mtu: number;
  /** The P_Key of the messages: the first of the port's table, or that of `--pkey-index`. */
  readonly pkey: number;
  /** The GIDs that can be used, the best one first. */
  readonly gids: readonly PairGid[];
}

export interface PairGid {
  readonly index: number;
  readonly gid: string;
  readonly family: Family;
}

/** Addresses of one family reach each other. The best one is first. */
export const FAMILIES = ["IPv4", "IPv6", "link-local", "InfiniBand", "loopback"] as const;
export type Family = typeof FAMILIES[number];

/** Messages of one size that one side sends to the other. */
export interface Probe {
  readonly service: "UD" | "RC";
  /** Bytes of a message. */
  readonly size: number;
  readonly sent: number;
  readonly received: number;
  /** `SUCCESS`; the status of the first send that failed; or the reason why none was sent. */
  readonly status: string;
}

/** The GIDs of the best family that both ports have. */
export function matchGids(here: PairPort, there: PairPort): [PairGid, PairGid] | undefined {
  for (const family of FAMILIES) {
    const isOf = (gid: PairGid): boolean => gid.family === family;
    const [ours, theirs] = [here.gids.find(isOf), there.gids.find(isOf)];
    if (ours !== undefined && theirs !== undefined) return [ours, theirs];
  }
  return undefined;
}
