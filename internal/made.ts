/** How the library gives a constructor of a public class what only the library has. */

/** What a constructor gets. Nobody else can make one. */
class Made<T> {
  readonly parts: T;

  constructor(parts: T) {
    this.parts = parts;
  }
}

/**
 * Hands parts to a constructor in the place of its argument. An overload would do it too, but the compiler would show it to
 * everybody who gives a wrong argument.
 */
export function made<T>(parts: T): never {
  return new Made(parts) as never;
}

/** The parts that a constructor got from the library; undefined if a program has called it. */
export function partsIn<T>(given: unknown): T | undefined {
  return given instanceof Made ? given.parts : undefined;
}

/**
 * The parts of a constructor that programs do not call. The type of its argument is a text, which the compiler shows to
 * programs: it names what makes such objects.
 *
 * @throws {TypeError} If a program has called it; `instead` says what to call.
 */
export function partsOf<T>(given: string, name: string, instead: string): T {
  const parts = partsIn<T>(given);
  if (parts !== undefined) return parts;
  throw new TypeError(`Cannot use new ${name}(): ${instead}`);
}
