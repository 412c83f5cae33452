import { AddressHandle, type AhAttrInit, type ProtectionDomain } from "../../mod.ts";
import { orAborted } from "../shared/or_aborted.ts";

/** Address handles by a key. The handle that was used least recently is closed when there are too many. */
export class HandleCache {
  readonly #pd: ProtectionDomain;
  readonly #max: number;
  /** In the order of their last use. */
  readonly #handles: Map<string, AddressHandle> = new Map();
  readonly #pending: Map<string, Promise<AddressHandle>> = new Map();
  /** How often all handles were closed. */
  #clears = 0;

  /** Keeps up to `max` handles. */
  constructor(pd: ProtectionDomain, max: number) {
    this.#pd = pd;
    this.#max = max;
  }

  /** Whether no handle is being made. A handle that is made may take the place of another one. */
  get isIdle(): boolean {
    return this.#pending.size === 0;
  }

  /** The handle of a key, if there is one. */
  known(key: string): AddressHandle | undefined {
    const known = this.#handles.get(key);
    if (known?.disposed !== false) return undefined;
    this.#handles.delete(key);
    this.#handles.set(key, known);
    return known;
  }

  /**
   * Makes the handle of a key on another thread. `attr` gives its attributes. All who ask for the same key share one
   * native call, which goes on if they abort.
   */
  async make(
    key: string,
    attr: () => AhAttrInit,
    signal: AbortSignal | undefined,
  ): Promise<AddressHandle> {
    let pending = this.#pending.get(key);
    if (pending === undefined) {
      pending = this.#create(key, attr).finally(() => this.#pending.delete(key));
      // A caller whose signal throws does not wait for it.
      pending.catch(() => {});
      this.#pending.set(key, pending);
    }
    return await orAborted(pending, signal);
  }

  async #create(key: string, attr: () => AhAttrInit): Promise<AddressHandle> {
    while (true) {
      const clears = this.#clears;
      const made = await AddressHandle.createAsync(this.#pd, attr());
      if (clears === this.#clears) return this.#add(key, made);
      made.close();
    }
  }

  #add(key: string, made: AddressHandle): AddressHandle {
    this.#handles.get(key)?.close();
    this.#handles.set(key, made);
    if (this.#handles.size > this.#max) {
      const [oldest, ah] = this.#handles.entries().next().value!;
      this.#handles.delete(oldest);
      ah.close();
    }
    return made;
  }

  /** Closes all handles. Sends in progress keep theirs. */
  clear(): void {
    this.#clears++;
    for (const ah of this.#handles.values()) ah.close();
    this.#handles.clear();
  }

  /** Waits until no handle is being made any more. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#pending.values());
  }
}
