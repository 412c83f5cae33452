import type { Handle } from "../../ffi/handles.ts";
import { type Kind, type Lifetime, lifetimeOf, refuse, Resource } from "./resource.ts";

/** What the classes of one kind of verbs object have in common. */
export type NativeKind<H extends Handle, R extends NativeResource<H>> = Kind<R, H>;

/** The handle of a resource that is disposed but not yet destroyed, for the disposal of what depends on it. */
export function handleOf<H extends Handle>(resource: NativeResource<H>): H {
  return lifetimeOf(resource).handle as H;
}

/**
 * A resource that holds a verbs object by its native handle.
 *
 * @category Objects and lifetimes
 */
export abstract class NativeResource<H extends Handle = Handle> extends Resource {
  readonly #lifetime: Lifetime;

  /** @ignore Registers with the resources it was made from. They must be open. */
  protected constructor(
    kind: NativeKind<H, never>,
    handle: H,
    parents: readonly Resource[],
  ) {
    super(kind, parents, handle);
    this.#lifetime = lifetimeOf(this);
  }

  /**
   * The native handle. **Unsafe**: native calls with it bypass every check of this module, and it dangles once the
   * object is disposed.
   *
   * @throws {TypeError} If the object is disposed.
   */
  get unsafeHandle(): H {
    return (this.#lifetime.openHandle ?? refuse(this)) as H;
  }
}
