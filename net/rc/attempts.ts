import { Gid } from "../../mod.ts";

/** How many attempts to connect there may be at the same time. */
export interface AttemptLimits {
  /** Partners that have sent no address yet. */
  readonly maxHandshakes: number;
  /** Connections that are made, or wait to be accepted. */
  readonly maxPending: number;
  /** The same of each, from one address. */
  readonly maxPerPeer: number;
}

/** Attempts in one stage, by the address of the partner. Oldest first. */
class Stage<T> {
  readonly #peers: Map<T, string> = new Map();
  readonly #counts: Map<string, number> = new Map();

  get size(): number {
    return this.#peers.size;
  }

  count(peer: string): number {
    return this.#counts.get(peer) ?? 0;
  }

  add(attempt: T, peer: string): void {
    this.#peers.set(attempt, peer);
    this.#counts.set(peer, this.count(peer) + 1);
  }

  /** Removes an attempt. Returns the address of its partner, if the attempt was there. */
  delete(attempt: T): string | undefined {
    const peer = this.#peers.get(attempt);
    if (peer === undefined) return undefined;
    this.#peers.delete(attempt);
    const count = this.count(peer) - 1;
    if (count > 0) this.#counts.set(peer, count);
    else this.#counts.delete(peer);
    return peer;
  }

  /** The address with the most attempts. There must be one. */
  busiest(): string {
    return [...this.#counts].reduce((most, next) => next[1] > most[1] ? next : most)[0];
  }

  /** The attempt of an address that has waited longest. */
  oldest(peer: string): T | undefined {
    for (const [attempt, from] of this.#peers) {
      if (from === peer) return attempt;
    }
    return undefined;
  }
}

/**
 * Bounds the attempts to connect to a listener. A partner that has sent no address costs a socket, and the silent one that
 * came first makes room for the next. A partner whose address was read costs a queue pair, and is refused when there
 * are too many: others have done nothing wrong.
 */
export class Attempts<T> {
  readonly #limits: AttemptLimits;
  readonly #silent: Stage<T> = new Stage();
  readonly #pending: Stage<T> = new Stage();

  /** Starts without attempts. */
  constructor(limits: AttemptLimits) {
    this.#limits = limits;
  }

  /** Whether the next partner from an address takes the place of another one. */
  isFull(hostname: string): boolean {
    return this.#crowd(networkOf(hostname)) !== undefined;
  }

  /** The address whose oldest silent partner has to go for the next one from `peer`; `undefined` if there is room. */
  #crowd(peer: string): string | undefined {
    const { maxHandshakes, maxPerPeer } = this.#limits;
    if (this.#silent.count(peer) >= maxPerPeer) return peer;
    return this.#silent.size >= maxHandshakes ? this.#silent.busiest() : undefined;
  }

  /** Adds a partner. Returns the silent one that has to go for it, if there are too many. */
  add(attempt: T, hostname: string): T | undefined {
    const peer = networkOf(hostname);
    const crowd = this.#crowd(peer);
    const leaving = crowd === undefined ? undefined : this.#silent.oldest(crowd);
    if (leaving !== undefined) this.#silent.delete(leaving);
    this.#silent.add(attempt, peer);
    return leaving;
  }

  /** A partner has sent its address. Returns whether a connection may be made. */
  advance(attempt: T): boolean {
    const { maxPending, maxPerPeer } = this.#limits;
    const peer = this.#silent.delete(attempt);
    if (peer === undefined) return false;
    const pending = this.#pending;
    if (pending.size >= maxPending || pending.count(peer) >= maxPerPeer) return false;
    pending.add(attempt, peer);
    return true;
  }

  /** An attempt has failed, or its connection was accepted. */
  delete(attempt: T): void {
    this.#silent.delete(attempt);
    this.#pending.delete(attempt);
  }
}

/** What one partner can have many addresses of: an IPv6 network of 64 bits. */
export function networkOf(hostname: string): string {
  const gid = Gid.parse(hostname.split("%", 1)[0]!);
  return gid.isIpv4Mapped ? gid.toString() : gid.subnetPrefix.toString(16);
}
