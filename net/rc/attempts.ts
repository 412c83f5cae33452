import { gidOf } from "./peer_gid.ts";

/** How many attempts to connect there may be at the same time. */
export interface AttemptLimits {
  /** Peers that have sent no address yet. */
  readonly maxHandshakes: number;
  /** Connections that are made, or wait to be accepted. */
  readonly maxPending: number;
  /** The same of each, from one address. */
  readonly maxPerPeer: number;
}

/** Attempts and the networks of their peers, oldest first. */
type Stage<T> = Map<T, string>;

/**
 * Bounds the attempts to connect to a listener. A peer that has sent no address costs a socket, and the silent one that
 * came first makes room for the next. A peer whose address was read costs a queue pair, and is refused when there
 * are too many: others have done nothing wrong.
 */
export class Attempts<T> {
  readonly #limits: AttemptLimits;
  readonly #silent: Stage<T> = new Map();
  readonly #pending: Stage<T> = new Map();

  constructor(limits: AttemptLimits) {
    this.#limits = limits;
  }

  /** Whether the next peer from an address takes the place of another one. */
  isFull(hostname: string): boolean {
    return this.#leaving(networkOf(hostname)) !== undefined;
  }

  /** The silent peer to drop for the next one from `peer`; `undefined` if there is room. */
  #leaving(peer: string): T | undefined {
    const { maxHandshakes, maxPerPeer } = this.#limits;
    const own = attemptsOf(this.#silent, peer);
    if (own.length >= maxPerPeer) return own[0];
    if (this.#silent.size < maxHandshakes) return undefined;
    const all = Map.groupBy(this.#silent.keys(), (attempt) => this.#silent.get(attempt)!).values();
    return all.reduce((most, next) => next.length > most.length ? next : most)[0];
  }

  /** Adds a peer. Returns the silent one to drop for it, if there are too many. */
  add(attempt: T, hostname: string): T | undefined {
    const peer = networkOf(hostname);
    const leaving = this.#leaving(peer);
    if (leaving !== undefined) this.#silent.delete(leaving);
    this.#silent.set(attempt, peer);
    return leaving;
  }

  /** A peer has sent its address. Returns whether a connection may be made. */
  advance(attempt: T): boolean {
    const { maxPending, maxPerPeer } = this.#limits;
    const peer = this.#silent.get(attempt);
    if (peer === undefined) return false;
    this.#silent.delete(attempt);
    const isFull = this.#pending.size >= maxPending ||
      attemptsOf(this.#pending, peer).length >= maxPerPeer;
    if (!isFull) this.#pending.set(attempt, peer);
    return !isFull;
  }

  /** An attempt has failed, or its connection was accepted. */
  delete(attempt: T): void {
    this.#silent.delete(attempt);
    this.#pending.delete(attempt);
  }
}

function attemptsOf<T>(stage: Stage<T>, peer: string): T[] {
  return [...stage.keys()].filter((attempt) => stage.get(attempt) === peer);
}

/** The network of an address: one peer can have all addresses of an IPv6 network of 64 bits. */
export function networkOf(hostname: string): string {
  const gid = gidOf(hostname);
  return gid.isIpv4Mapped ? gid.toString() : gid.subnetPrefix.toString(16);
}
