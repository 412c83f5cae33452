import { textOf } from "../../internal/texts.ts";
import { endWaits } from "../../wait/descriptors.ts";
import { noteMade } from "../../internal/left_open.ts";
import { closeOpen, closeQuietly } from "../../internal/program_end.ts";

/** The depth of nested disposals. */
let depth = 0;
/**
 * Serial number of the outermost disposal: within it a resource with several parents is tried only once, and fails
 * once.
 */
let round = 0;

/** The resources that were made from nothing and still exist, oldest first. */
const roots: Set<Resource> = new Set();

/** A cached check is valid while the number of disposals is unchanged. */
export const disposals: { count: number } = { count: 0 };

/** What the classes of one kind of resource have in common. `H` is the native handle, `undefined` if there is none. */
export interface Kind<R extends Resource = Resource, H = undefined> {
  /** The name in messages, such as "queue pair". */
  readonly name: string;
  /** Whether unfinished work still uses the resource. Whoever answers yes calls `destroyIfUnused` later. */
  readonly isInUse?: ((resource: R) => boolean) | undefined;
  /** Runs when disposal begins, before the children are disposed. It must not throw. */
  readonly closing?: ((resource: R) => void) | undefined;
  /** Frees what the resource holds. If it throws, `close()` may be called again. */
  readonly destroy: (handle: H, resource: R) => void;
  /** The attributes that `console.log` shows. It runs only while the resource is open. */
  readonly describe?: ((resource: R) => Record<string, unknown>) | undefined;
}

/** The inside of a resource. */
export interface Lifetime {
  readonly kind: Kind<Resource, unknown>;
  parents: readonly Resource[];
  /** The resources that were made from this one and still exist, oldest first. */
  readonly children: Set<Resource>;
  /** The native handle, until the resource is destroyed. */
  readonly handle: unknown;
  /** The native handle while the resource is open. */
  openHandle: unknown;
  state: "open" | "closing" | "destroyed";
  /** How many `retain` have not ended. */
  holds: number;
  /** The round of disposal in which destroying it was tried. */
  triedIn: number;
}

/** The inside of a resource. It throws a TypeError for what only looks like one, such as a Proxy of a resource. */
export let lifetimeOf: (resource: Resource) => Lifetime;

/**
 * An object that must be disposed. Use it with `using`, or call `Resource.close`.
 *
 * Disposing a resource disposes the resources that were made from it first, newest first. Disposing twice does nothing.
 * Using a disposed resource throws a TypeError. The native object is destroyed at once, unless something still uses it,
 * such as a send that has not completed or a call on another thread. Then it is destroyed when that use ends.
 *
 * @category Objects and lifetimes
 */
export abstract class Resource implements Disposable {
  readonly #lifetime: Lifetime;

  static {
    lifetimeOf = (resource) => resource.#lifetime;
  }

  /** @ignore Registers with the resources it was made from. They must be open. */
  protected constructor(kind: Kind<never, never>, parents: readonly Resource[], handle?: unknown) {
    this.#lifetime = {
      kind: kind as unknown as Kind<Resource, unknown>,
      parents,
      children: new Set(),
      handle,
      openHandle: handle,
      state: "open",
      holds: 0,
      triedIn: 0,
    };
    for (const parent of parents) parent.#lifetime.children.add(this);
    noteMade(this);
    if (parents.length === 0) addRoot(this);
  }

  /** Whether the resource was disposed, directly or with a resource it was made from. */
  get disposed(): boolean {
    return this.#lifetime.state !== "open";
  }

  /**
   * Disposes the resource: first the resources that were made from it, then itself.
   *
   * @throws {VerbsError} If the system refuses. The resource can then be closed again.
   */
  close(): void {
    this[Symbol.dispose]();
  }

  /** Disposes the resource, as `Resource.close` does. */
  [Symbol.dispose](): void {
    const lifetime = this.#lifetime;
    if (lifetime.state === "destroyed") return;
    if (lifetime.state === "open") {
      lifetime.state = "closing";
      lifetime.openHandle = undefined;
      disposals.count++;
      lifetime.kind.closing?.(this);
    }
    if (depth++ === 0) round++;
    // The last child must not destroy this resource: that would fail twice, and the second error would hide the first.
    lifetime.holds++;
    if (lifetime.children.size === 0) return endDisposal(this);
    using stack = new DisposableStack();
    stack.defer(() => endDisposal(this));
    for (const child of lifetime.children) stack.use(child);
  }

  /** The class name and the attributes that matter, on one line, for `console.log`. */
  [Symbol.for("Deno.customInspect")](
    inspect: (value: unknown, options?: Deno.InspectOptions) => string,
    options: Deno.InspectOptions = {},
  ): string {
    if (this.disposed) return this.toString();
    const attributes = this.#lifetime.kind.describe?.(this) ?? {};
    const line = { ...options, breakLength: Infinity, compact: true };
    return `${this.constructor.name} ${inspect(attributes, line)}`;
  }

  /** The class name and the attributes that matter, on one line. */
  toString(): string {
    const name = this.constructor.name;
    if (this.disposed) return `${name} { disposed }`;
    return textOf(name, this.#lifetime.kind.describe?.(this) ?? {});
  }
}

function endDisposal(resource: Resource): void {
  depth--;
  lifetimeOf(resource).holds--;
  destroyWhenUnused(resource);
}

function destroyWhenUnused(resource: Resource): void {
  const lifetime = lifetimeOf(resource);
  const { kind, parents, children, handle, state, holds, triedIn } = lifetime;
  if (state !== "closing" || holds > 0 || children.size > 0) return;
  if (kind.isInUse?.(resource) || triedIn === round) return;
  lifetime.triedIn = round;
  kind.destroy(handle, resource);
  lifetime.state = "destroyed";
  roots.delete(resource);
  for (const parent of parents) lifetimeOf(parent).children.delete(resource);
  for (const parent of parents) destroyIfUnused(parent);
}

/** Destroys a disposed resource if nothing uses it. An error stays for the next `close()` of the resource. */
export function destroyIfUnused(resource: Resource): void {
  try {
    destroyWhenUnused(resource);
  } catch {
    // The caller did not ask for the disposal, so the error is not for it: the next close() reports it.
  }
}

/** Keeps the native object of a resource until `release`, even if the resource is disposed. */
export function retain(resource: Resource): void {
  lifetimeOf(resource).holds++;
}

/** Ends a `retain`. The last one destroys a resource that was disposed in the meantime. */
export function release(resource: Resource): void {
  lifetimeOf(resource).holds--;
  destroyIfUnused(resource);
}

/**
 * A process can outlive the program: `deno run --watch` starts it again in the same process, whose devices and ports
 * are still open. Of a program that ends, only this listener still runs.
 */
function addRoot(root: Resource): void {
  if (!isListening) addEventListener("unload", closeAll);
  isListening = true;
  roots.add(root);
}

let isListening = false;

function closeAll(): void {
  endWaits();
  closeOpen();
  for (const root of [...roots].reverse()) closeQuietly(root);
}

/** Replaces a parent with another one. Both are open. */
export function moveTo(resource: Resource, from: Resource, to: Resource): void {
  const lifetime = lifetimeOf(resource);
  lifetime.parents = lifetime.parents.map((parent) => parent === from ? to : parent);
  lifetimeOf(from).children.delete(resource);
  lifetimeOf(to).children.add(resource);
}

/** Refuses a disposed resource. */
export function assertOpen(resource: Resource): void {
  if (!isOpen(resource)) refuse(resource);
}

/** Throws `disposedError`. */
export function refuse(resource: Resource): never {
  throw disposedError(resource);
}

/** The error for the use of a disposed resource. */
export function disposedError(resource: Resource): TypeError {
  return new TypeError(`Cannot use ${kindOf(resource)}: it is disposed`);
}

/** Whether a value is a resource, and does not only look like one as a Proxy of a resource does. */
export function isResource(value: object): value is Resource {
  try {
    return lifetimeOf(value as Resource) !== undefined;
  } catch {
    return false;
  }
}

/** Whether a resource is open. */
export function isOpen(resource: Resource): boolean {
  return lifetimeOf(resource).state === "open";
}

/** Whether a resource is disposed, or is about to be because one that it was made from is. */
export function isEnding(resource: Resource): boolean {
  return !isOpen(resource) || lifetimeOf(resource).parents.some(isEnding);
}

/** The name of a resource in messages, such as "queue pair". */
export function kindOf(resource: Resource): string {
  return lifetimeOf(resource).kind.name;
}

/** The context that a resource was made from, directly or not; the resource itself if it was made from nothing. */
export function rootOf(resource: Resource): Resource {
  const [first] = lifetimeOf(resource).parents;
  return first === undefined ? resource : rootOf(first);
}
