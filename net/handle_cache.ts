import { AddressHandle, type AhAttrInit, type ProtectionDomain } from "../mod.ts";

/** Address handles by a key. The handle that was used least recently is closed when there are too many. */
export class HandleCache {
  readonly #pd: ProtectionDomain;
  readonly #max: number;
  /** In the order of their last use. */
  readonly #handles: Map<string, AddressHandle> = new Map();

  /** Keeps up to `max` handles. */
  constructor(pd: ProtectionDomain, max: number) {
    this.#pd = pd;
    this.#max = max;
  }

  /** The handle of a key; a new one if there is none. */
  async get(
    key: string,
    attr: () => AhAttrInit,
    signal: AbortSignal | undefined,
  ): Promise<AddressHandle> {
    const known = this.#handles.get(key);
    if (known?.disposed === false) {
      this.#handles.delete(key);
      this.#handles.set(key, known);
      return known;
    }
    const options = signal === undefined ? {} : { signal };
    const made = await AddressHandle.create(this.#pd, attr(), options);
    const other = this.#handles.get(key);
    if (other?.disposed === false) {
      // Another caller made it at the same time, and may post with it now.
      made.close();
      return other;
    }
    this.#handles.set(key, made);
    if (this.#handles.size > this.#max) this.#closeOldest();
    return made;
  }

  #closeOldest(): void {
    const [key, ah] = this.#handles.entries().next().value!;
    this.#handles.delete(key);
    ah.close();
  }

  /** Closes all handles. Sends in progress keep theirs. */
  clear(): void {
    for (const ah of this.#handles.values()) ah.close();
    this.#handles.clear();
  }
}
