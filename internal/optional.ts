/**
 * The properties of `T`, each of which may be left out or be `undefined`. `Partial` refuses `undefined` in programs that are
 * compiled with `exactOptionalPropertyTypes`.
 *
 * @category Objects and lifetimes
 */
export type Optional<T> = { [K in keyof T]?: T[K] | undefined };

/**
 * The properties of `T`, each of which must be given and is not `undefined`.
 *
 * @category Objects and lifetimes
 */
export type Complete<T> = { [K in keyof T]-?: Exclude<T[K], undefined> };
