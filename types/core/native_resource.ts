/**
 * Resources that hold a native handle.
 *
 * @module
 */

import type { Handle } from "../../ffi/handles.ts";
import { type Kind, kindOf, Resource } from "./resource.ts";

/** What the classes of one kind of verbs object have in common. */
export interface NativeKind<H extends Handle, R extends NativeResource<H>>
  extends Omit<Kind<R>, "destroy"> {
  /** Destroys the native object. If it throws, `close()` may be called again. */
  readonly destroy: (handle: H, resource: R) => void;
}

/** A native object that exists already, for a constructor that otherwise makes one. */
export class Adopted<H extends Handle> {
  /** The native object. The resource that is made from it destroys it. */
  readonly handle: H;

  /** Wraps a native object. */
  constructor(handle: H) {
    this.handle = handle;
  }
}

/** The handle of a resource that is disposed but not yet destroyed, for the disposal of what hangs on it. */
export let handleOf: <H extends Handle>(resource: NativeResource<H>) => H;

let close: (resource: NativeResource) => void;

/**
 * A resource that holds a verbs object by its native handle.
 *
 * @category Objects and lifetimes
 */
export abstract class NativeResource<H extends Handle = Handle> extends Resource {
  readonly #handle: H;
  /** The handle while the resource is open. */
  #open: H | undefined;

  static {
    handleOf = (resource) => resource.#handle;
    close = (resource) => {
      resource.#open = undefined;
    };
  }

  /** @ignore Registers with the resources it was made from. They must be open. */
  protected constructor(
    kind: NativeKind<H, never>,
    handle: H,
    parents: readonly Resource[],
  ) {
    super(lifetimeKind(kind) as Kind<never>, parents);
    this.#handle = handle;
    this.#open = handle;
  }

  /**
   * The native handle. **Unsafe**: native calls with it bypass every check of this module, and it dangles once the
   * object is disposed.
   *
   * @throws {TypeError} If the object is disposed.
   */
  get unsafeHandle(): H {
    // Every post and poll reads this. V8 inlines it everywhere only if it is this small.
    return this.#open ?? refuse(this);
  }
}

function refuse(resource: NativeResource): never {
  throw new TypeError(`Cannot use ${kindOf(resource)}: it is disposed`);
}

/** One object per class, not per instance. */
const lifetimeKinds = new WeakMap<object, Kind>();

function lifetimeKind<H extends Handle>(kind: NativeKind<H, never>): Kind {
  let made = lifetimeKinds.get(kind);
  if (made === undefined) {
    const destroy = kind.destroy as (handle: Handle, resource: NativeResource) => void;
    const closing = kind.closing as ((resource: Resource) => void) | undefined;
    made = {
      ...kind as unknown as Kind,
      closing(resource): void {
        close(resource as NativeResource);
        closing?.(resource);
      },
      destroy: (resource) =>
        destroy(handleOf(resource as NativeResource), resource as NativeResource),
    };
    lifetimeKinds.set(kind, made);
  }
  return made;
}
