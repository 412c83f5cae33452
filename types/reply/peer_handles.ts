import { orAborted } from "../../wait/abort.ts";
import { WordCache } from "../../internal/word_cache.ts";
import { partOf } from "../../internal/left_open.ts";
import { constants } from "../../ffi/layout.ts";
import {
  type AhCore,
  ahCore,
  fromWords,
  fromWordsAsync,
} from "../address_handle/address_handle.ts";
import type { Cause } from "../../wait/state.ts";
import { failure, type VerbsError } from "../core/errors.ts";
import type { ProtectionDomain } from "../memory/protection_domain.ts";
import type { Senders } from "./senders.ts";

/** A handle that is being made on another thread. */
interface Pending {
  readonly made: Promise<AhCore | undefined>;
  readonly controller: AbortController;
  waiting: number;
}

interface RetiredHandles {
  readonly handles: readonly AhCore[];
  /** They are closed after this many look-ups. */
  readonly until: number;
}

/**
 * Address handles by the words of their `struct ibv_ah_attr`. It makes them, keeps them and closes them.
 *
 * Age is counted in look-ups, not in time. A handle that was handed out stays open for at least `maxPeers - 1` further
 * look-ups, because its caller may not have posted with it yet: only then can it be the least recently used one. A
 * handle whose address is no longer valid is kept as long.
 */
export class PeerHandles implements Disposable {
  readonly #pd: ProtectionDomain;
  readonly #maxPeers: number;
  readonly #cache: WordCache<AhCore>;
  /** Handles that are no longer handed out, oldest first. */
  readonly #retired: RetiredHandles[] = [];
  /** Handles for packets that are being made. */
  readonly #pending: Map<string, Pending> = new Map();
  /** Handles for the program that are being made. */
  readonly #own: Map<string, Pending> = new Map();
  /** Checks whether addresses have changed, and calls `PeerHandles.retire` if so. */
  readonly #refresh: () => void;
  /** The senders, where completions name them by the numbers of handles. */
  readonly #senders: Senders | undefined;
  #changes = 0;
  #lookUps = 0;

  constructor(
    pd: ProtectionDomain,
    maxPeers: number,
    refresh: () => void,
    senders?: Senders,
  ) {
    this.#pd = pd;
    this.#maxPeers = maxPeers;
    this.#cache = new WordCache(maxPeers);
    this.#refresh = refresh;
    this.#senders = senders;
  }

  get size(): number {
    return this.#cache.size;
  }

  find(words: Uint32Array): AhCore | undefined {
    this.#lookUps++;
    return this.#known(words);
  }

  #known(words: Uint32Array): AhCore | undefined {
    const ah = this.#cache.find(words);
    // A caller may have disposed the handle.
    return ah?.isOpen ? ah : undefined;
  }

  /** Makes the handle of a peer. The result is undefined if addresses have changed in the meantime. */
  make(words: Uint32Array<ArrayBuffer>): AhCore | undefined {
    const changes = this.#changes;
    return this.#keep(words, ahCore(fromWords(this.#pd, words))!, changes);
  }

  /**
   * `PeerHandles.make` on another thread. For a packet it fails if `maxPending` others are being made. All callers that
   * ask for a peer, for one cause, share one call, which is aborted when the last of them aborts.
   *
   * @param maxPending For a packet; the program's own calls have no limit.
   */
  async makeAsync(
    words: Uint32Array<ArrayBuffer>,
    maxPending: number | undefined,
    signal: AbortSignal | undefined,
  ): Promise<AhCore | undefined> {
    // The program must not wait behind strangers for a peer that one of them has named too.
    const [all, cause] = maxPending === undefined
      ? [this.#own, "program"] as const
      : [this.#pending, "datagram"] as const;
    const name = words.join();
    let pending = all.get(name);
    if (pending === undefined) {
      if (all.size >= (maxPending ?? Infinity)) throw tooManyPending(all.size);
      pending = this.#start(words.slice(), cause);
      all.set(name, pending);
    }
    pending.waiting++;
    try {
      return await orAborted(pending.made, signal);
    } finally {
      if (--pending.waiting === 0) {
        if (all.get(name) === pending) all.delete(name);
        pending.controller.abort();
      }
    }
  }

  #start(words: Uint32Array<ArrayBuffer>, cause: Cause): Pending {
    const controller = new AbortController();
    return { made: this.#create(words, cause, controller.signal), controller, waiting: 0 };
  }

  async #create(
    words: Uint32Array<ArrayBuffer>,
    cause: Cause,
    signal: AbortSignal,
  ): Promise<AhCore | undefined> {
    const changes = this.#changes;
    const ah = await fromWordsAsync(this.#pd, words, cause, signal);
    return this.#keep(words, ahCore(ah)!, changes);
  }

  #keep(words: Uint32Array, ah: AhCore, changes: number): AhCore | undefined {
    using stack = new DisposableStack();
    stack.use(ah.handle);
    this.#refresh();
    if (changes !== this.#changes) return undefined;
    const known = this.#known(words);
    // Another caller has made a handle in the meantime, and may be about to post with it.
    if (known !== undefined) return known;
    this.#senders?.made(words, ah);
    partOf(ah.handle);
    stack.move();
    const forgotten = this.#cache.set(words, ah);
    // Completions that were not polled yet may have its number, which must not become that of another peer.
    if (this.#senders !== undefined && forgotten !== undefined) this.#retire([forgotten]);
    else forgotten?.handle.close();
    return ah;
  }

  /** Hands out none of the present handles any more, because addresses have changed. */
  retire(): void {
    this.#changes++;
    const handles = this.#cache.takeAll();
    if (handles.length > 0) this.#retire(handles);
  }

  #retire(handles: readonly AhCore[]): void {
    this.#retired.push({ handles, until: this.#lookUps + this.#maxPeers });
  }

  trim(): void {
    if (this.#retired.length > 0) this.#closeRetired(this.#lookUps);
  }

  #closeRetired(lookUps: number): void {
    using stack = new DisposableStack();
    while (this.#retired.length > 0 && lookUps >= this.#retired[0]!.until) {
      for (const { handle } of this.#retired.shift()!.handles) stack.use(handle);
    }
  }

  /** Ends all calls on other threads. Their callers get the reason. */
  abort(reason: unknown): void {
    for (const all of [this.#pending, this.#own]) {
      for (const { controller } of all.values()) controller.abort(reason);
      all.clear();
    }
  }

  [Symbol.dispose](): void {
    this.retire();
    this.#closeRetired(Infinity);
  }
}

function tooManyPending(maxPending: number): VerbsError {
  return failure("ibv_create_ah", "create address handle", constants.EAGAIN, {
    hint: () =>
      `The handles of ${maxPending} other peers are being made (maxPending): answer this one later, or not at all`,
  });
}
