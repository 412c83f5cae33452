import type { AddressHandle } from "../address_handle/address_handle.ts";
import { readAhAttr } from "../address/ah_attr.ts";
import { PeerCache } from "./peer_cache.ts";
import type { ProtectionDomain } from "../memory/protection_domain.ts";
import { RetiredHandles } from "./retired_handles.ts";

/** The address handles of peers, by the words of their `struct ibv_ah_attr`. It makes them, keeps them and closes them. */
export class PeerHandles implements Disposable {
  readonly #pd: ProtectionDomain;
  readonly #cache: PeerCache<AddressHandle>;
  readonly #retired: RetiredHandles;
  /** Handles being made on other threads. */
  readonly #making: Map<string, Promise<AddressHandle | undefined>> = new Map();
  /** Looks whether addresses have changed, and calls {@linkcode PeerHandles.retire} if so. */
  readonly #refresh: () => void;
  /** How often they have. */
  #changes = 0;

  /** Keeps up to `maxPeers`. */
  constructor(pd: ProtectionDomain, maxPeers: number, refresh: () => void) {
    this.#pd = pd;
    this.#cache = new PeerCache(maxPeers);
    this.#retired = new RetiredHandles(maxPeers);
    this.#refresh = refresh;
  }

  /** How many peers have one. */
  get size(): number {
    return this.#cache.size;
  }

  /** The handle of a peer that has one. */
  find(words: Uint32Array): AddressHandle | undefined {
    const ah = this.#cache.find(words);
    // it may have been disposed by whom it was given to
    return ah === undefined || ah.disposed ? undefined : ah;
  }

  /** Makes a peer's handle; undefined if addresses have changed meanwhile. */
  make(words: Uint32Array<ArrayBuffer>): AddressHandle | undefined {
    const changes = this.#changes;
    return this.#keep(words, this.#pd.createAh(attrOf(words)), changes);
  }

  /** {@linkcode PeerHandles.make} on another thread, once for all who ask meanwhile. */
  makeAsync(words: Uint32Array<ArrayBuffer>): Promise<AddressHandle | undefined> {
    const name = words.join();
    let making = this.#making.get(name);
    if (making === undefined) {
      making = this.#start(words.slice()).finally(() => this.#making.delete(name));
      this.#making.set(name, making);
    }
    return making;
  }

  async #start(words: Uint32Array<ArrayBuffer>): Promise<AddressHandle | undefined> {
    const changes = this.#changes;
    const ah = await this.#pd.createAhAsync(attrOf(words));
    return this.#keep(words, ah, changes);
  }

  #keep(words: Uint32Array, ah: AddressHandle, changes: number): AddressHandle | undefined {
    using stack = new DisposableStack();
    stack.use(ah);
    this.#refresh();
    if (changes !== this.#changes) return undefined;
    const known = this.find(words);
    // made by others meanwhile; they may be about to post with it
    if (known !== undefined) return known;
    stack.move();
    this.#retired.trim();
    this.#cache.set(words, ah)?.close();
    return ah;
  }

  /** Gives none of the handles out any more: addresses have changed. */
  retire(): void {
    this.#changes++;
    this.#retired.add(this.#cache.takeAll());
  }

  /** Closes all handles. */
  [Symbol.dispose](): void {
    using stack = new DisposableStack();
    for (const ah of this.#cache.takeAll()) stack.use(ah);
    stack.use(this.#retired);
  }
}

function attrOf(words: Uint32Array<ArrayBuffer>): ReturnType<typeof readAhAttr> {
  return readAhAttr(new DataView(words.buffer));
}
