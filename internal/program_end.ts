/** What runs at the end of the program, and at the end of a native object. */

interface Closable {
  close(): void;
}

const open: Set<Closable> = new Set();

/**
 * Has an object closed when the program ends, before the objects that it uses: otherwise it would treat the end of its
 * device as a failure.
 *
 * @returns A function to call when it is closed.
 */
export function closeAtEnd(object: Closable): () => void {
  open.add(object);
  return () => void open.delete(object);
}

/** Closes the objects of `closeAtEnd`, newest first, because the program ends. */
export function closeOpen(): void {
  for (const object of [...open].reverse()) closeQuietly(object);
}

/** Nobody can close it again: the end of the process does. */
export function closeQuietly(object: Closable): void {
  try {
    object.close();
  } catch {
    // The other objects must be closed all the same.
  }
}

const ends: WeakMap<object, () => void> = new WeakMap();

/**
 * Sets what runs when a native object is destroyed, which a call on another thread can delay. Until then the object may
 * use what it was made from, and its number is not given to another one.
 */
export function atEndOf(object: object, call: () => void): void {
  ends.set(object, call);
}

/** A native object is destroyed. */
export function endOf(object: object): void {
  ends.get(object)?.();
  ends.delete(object);
}
