/** How the library calls a constructor that programs cannot call: the class is public, but its parts are not. */

/** What the constructor gets. Only this module can make one. */
class Made<T> {
  readonly parts: T;

  constructor(parts: T) {
    this.parts = parts;
  }
}

/**
 * Hands parts to a constructor in the place of its argument. The type of that argument is a text that the compiler
 * shows: it names what makes such objects.
 */
export function made<T>(parts: T): never {
  return new Made(parts) as never;
}

/**
 * The parts that a constructor got from the library.
 *
 * @throws {TypeError} If a program has called it; `instead` says what to call.
 */
export function partsOf<T>(given: string, name: string, instead: string): T {
  const value: unknown = given;
  if (value instanceof Made) return value.parts;
  throw new TypeError(`Cannot use new ${name}(): ${instead}`);
}
