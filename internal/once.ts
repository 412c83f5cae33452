/** Makes a value when it is first asked for: what is made while modules load delays the start of every program. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
