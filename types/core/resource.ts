/**
 * What all handles share: they know what they were made from, dispose what was made from them first, and are refused
 * once disposed, before native code is reached.
 *
 * @module
 */

import type { Handle } from "../ffi/handles.ts";

type State = "open" | "closing" | "destroyed";

/** How many disposals are going on, each within the one before. */
let depth = 0;
/** Numbers the outermost ones: in each, an object that several parents dispose is tried once, and fails once. */
let round = 0;

/** How many objects have been disposed so far: what was checked holds on while this stays the same. */
export let disposals = 0;

/** Keeps the native object until {@linkcode unhold}, whatever is disposed meanwhile. */
export let hold: (resource: Resource) => void;
/** Ends a {@linkcode hold}; the last one destroys an object that was disposed meanwhile. */
export let unhold: (resource: Resource) => void;
/** Destroys a disposed object if nothing uses it any more. */
export let reconsider: (resource: Resource) => void;

/**
 * A verbs object held by a native handle. Use it with `using`, or call {@linkcode Resource.close}.
 *
 * Disposing an object disposes what was made from it first, newest first. Disposing twice does nothing. Using a
 * disposed object throws a TypeError. The native object goes at once, unless something still uses it (a send that
 * has not completed, a call on another thread): then it goes as soon as that ends.
 */
export abstract class Resource<H extends Handle = Handle> implements Disposable {
  readonly #handle: H;
  readonly #parents: readonly Resource[];
  readonly #children: Set<Resource> = new Set();
  #state: State = "open";
  #holds = 0;
  #triedIn = 0;

  /** The object's name in messages, such as "queue pair". */
  protected abstract readonly kind: string;

  /** Registers with the objects this one was made from; they must be open. */
  protected constructor(handle: H, parents: readonly Resource[]) {
    this.#handle = handle;
    this.#parents = [...new Set(parents)];
    for (const parent of this.#parents) parent.#children.add(this);
  }

  /** Whether it has been disposed, by itself or with what it was made from. */
  get disposed(): boolean {
    return this.#state !== "open";
  }

  /**
   * The native handle. **Unsafe**: what is done with it goes past every check of this module, and it dangles once the
   * object is disposed.
   *
   * @throws {TypeError} If the object is disposed.
   */
  get unsafeHandle(): H {
    this.assertOpen();
    return this.#handle;
  }

  /** Throws the error of a disposed object. */
  protected assertOpen(): void {
    if (this.#state !== "open") {
      throw new TypeError(`Cannot use ${this.kind}: it is disposed`);
    }
  }

  /** Whether work under way still uses the native object; who answers so calls {@linkcode reconsider} later. */
  protected isInUse(): boolean {
    return false;
  }

  /** Destroys the native object. Throws if it could not, and then may be called again. */
  protected abstract destroy(handle: H): void;

  static {
    hold = (resource) => {
      resource.#holds++;
    };
    unhold = (resource) => {
      resource.#holds--;
      reconsider(resource);
    };
    reconsider = (resource) => {
      try {
        resource.#destroyWhenUnused();
      } catch {
        // nobody disposes here who could be told: the object stays, and the next close() says why
      }
    };
  }

  /**
   * Disposes the object: what was made from it first, then itself.
   *
   * @throws {VerbsError} If the system refuses; the object can then be closed again.
   */
  close(): void {
    this[Symbol.dispose]();
  }

  /** Disposes the object, as {@linkcode Resource.close} does. */
  [Symbol.dispose](): void {
    if (this.#state === "destroyed") return;
    this.#state = "closing";
    disposals++;
    if (depth++ === 0) round++;
    // the last child to go must not destroy it: that would fail twice, and hide the first error behind the second
    this.#holds++;
    using stack = new DisposableStack();
    stack.defer(() => {
      depth--;
      this.#holds--;
      this.#destroyWhenUnused();
    });
    for (const child of this.#children) stack.use(child);
  }

  #destroyWhenUnused(): void {
    if (this.#state !== "closing" || this.#holds > 0 || this.#children.size > 0) return;
    if (this.isInUse() || this.#triedIn === round) return;
    this.#triedIn = round;
    this.destroy(this.#handle);
    this.#state = "destroyed";
    for (const parent of this.#parents) parent.#children.delete(this);
    for (const parent of this.#parents) reconsider(parent);
  }
}
