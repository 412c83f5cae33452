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
