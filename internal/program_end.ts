/** What is done at the end of the program, and at the end of a native object. */

interface Closable {
  close(): void;
}

const open: Set<Closable> = new Set();

/**
 * Has an object closed when the program ends, before what it is made of: else it would take the end of its device for a
 * failure.
 *
 * @returns Says that it is closed.
 */
export function closeAtEnd(object: Closable): () => void {
  open.add(object);
  return () => void open.delete(object);
}

/** Closes the objects of `closeAtEnd`, newest first, because the program ends. */
export function closeOpen(): void {
  for (const object of [...open].reverse()) closeQuietly(object);
}

/** Nobody is there to close it again: the end of the process does. */
export function closeQuietly(object: Closable): void {
  try {
    object.close();
  } catch {
    // The other objects are closed all the same.
  }
}

const ends: WeakMap<object, () => void> = new WeakMap();

/**
 * Says what is to be done when a native object is destroyed, which a call on another thread can put off. Until then it may use
 * what it was made with, and nobody else has its number.
 */
export function atEndOf(object: object, call: () => void): void {
  ends.set(object, call);
}

/** A native object is destroyed. */
export function endOf(object: object): void {
  ends.get(object)?.();
  ends.delete(object);
}
