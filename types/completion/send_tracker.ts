import { destroyIfUnused, type Resource } from "../core/resource.ts";

/**
 * Counts the sends of one queue pair, so that the objects they use live until their completions are polled. Sends
 * complete in order: a completion means that its send and all sends before it are done.
 *
 * Failed sends are not counted, because a failed completion does not say whether it is that of a send or of a receive.
 * The queue pair is then in an error state. The objects live until it is reset, recovered or destroyed.
 */
export class SendTracker {
  /** Whether failed sends are counted too. */
  readonly countsFailed: boolean = false;
  /**
   * Signaled sends posted. The number of a signaled send is the count of the signaled sends up to and with itself. The
   * number of an unsignaled send is that of the next signaled one.
   */
  #posted = 0;
  #completed = 0;
  /**
   * Resources that were disposed while sends used them, with the number of the last of these sends. It exists only
   * while there are some, because each completion checks it.
   */
  #disposed: Map<Resource, number> | undefined;

  /** Records signaled sends that were posted. Returns the count of those before. */
  posted(signaled: number): number {
    const before = this.#posted;
    this.#posted += signaled;
    return before;
  }

  completed(count: number): void {
    this.#completed = Math.min(this.#completed + count, this.#posted);
    if (this.#disposed !== undefined) this.#release(this.#disposed);
  }

  /** Records that no send is outstanding any more: the queue pair was reset, recovered or destroyed. */
  ended(): void {
    // Unsignaled sends after the last signaled one have the number of the next signaled one.
    this.#completed = ++this.#posted;
    if (this.#disposed !== undefined) this.#release(this.#disposed);
  }

  /** Whether a signaled send is outstanding: a completion in the queue may count as its completion. */
  get awaitsCompletion(): boolean {
    return this.#posted !== this.#completed;
  }

  isUnderWay(number: number): boolean {
    return number > this.#completed;
  }

  /** Destroys a disposed resource when the send of this number is done. */
  whenDone(number: number, resource: Resource): void {
    (this.#disposed ??= new Map()).set(resource, number);
  }

  #release(disposed: Map<Resource, number>): void {
    for (const [resource, number] of disposed) {
      if (this.isUnderWay(number)) continue;
      disposed.delete(resource);
      destroyIfUnused(resource);
    }
    if (disposed.size === 0) this.#disposed = undefined;
  }
}

/**
 * Counts the sends of a queue pair whose sends complete in any order: a completion does not show which ones are done,
 * so each counts as in progress until all are done. Such a queue pair stays usable after a failed send, which therefore
 * counts: its completions report the kind of a failed request.
 */
export class UnorderedSends extends SendTracker {
  override readonly countsFailed = true;

  override isUnderWay(): boolean {
    return this.awaitsCompletion;
  }
}
