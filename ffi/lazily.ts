/**
 * An object whose properties are made when they are first read, and are plain properties from then on.
 *
 * @param rows What each property is made from, by its name.
 * @param make Makes a property.
 */
export function lazily<R, T>(
  rows: Readonly<Record<string, R>>,
  make: (name: string, row: R) => T,
): Readonly<Record<string, T>> {
  const object: Record<string, T> = {};
  for (const [name, row] of Object.entries(rows)) {
    Object.defineProperty(object, name, {
      configurable: true,
      enumerable: true,
      get: () => {
        const value = make(name, row);
        Object.defineProperty(object, name, { value });
        return value;
      },
    });
  }
  return object;
}
