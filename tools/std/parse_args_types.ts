/**
 * What `parseArgs()` takes and returns.
 *
 * @module
 */

type Names<Name> = Name | readonly Extract<Name, string>[];
type Aliases = Record<string, string | readonly string[]>;

/** Options of `parseArgs()`, named as in the real package. */
export interface ParseOptions<
  B = boolean | string | undefined,
  S = string | undefined,
  C = string | undefined,
  N = string | undefined,
  D = Record<string, unknown> | undefined,
  A = Aliases | undefined,
  TDoubleDash = boolean | undefined,
> {
  /** Collect what follows "--" in a property of that name instead of in `_`. */
  "--"?: TDoubleDash;
  /** Other names of an option. */
  alias?: A;
  /** Options without a value; true: all long ones without "=". */
  boolean?: Names<B>;
  /** Options collected into an array. */
  collect?: Names<C>;
  /** Values of options not given. */
  default?: D;
  /** Options that may be set to false by "--no-". */
  negatable?: Names<N>;
  /** Leave everything after the first operand in `_`. */
  stopEarly?: boolean;
  /** Options whose value stays text, even when it looks like a number. */
  string?: Names<S>;
  /** Asked about all not named elsewhere; false leaves the argument out. */
  unknown?: (arg: string, key?: string, value?: unknown) => unknown;
}

/** The options found, typed by how they were declared. */
export type Values<B, S, C, N, D, A> = [B | S | C] extends [undefined | false]
  // deno-lint-ignore no-explicit-any
  ? Record<string, any>
  :
    & Record<string, unknown>
    & Aliased<Defaulted<Declared<B, S, C, N>, D>, A>;

/** What `parseArgs()` returns. */
export type Args<
  // deno-lint-ignore no-explicit-any
  TArgs = Record<string, any>,
  TDoubleDash extends boolean | undefined = undefined,
> =
  & TArgs
  & { _: (string | number)[] }
  & (true extends TDoubleDash ? { "--": string[] } : unknown);

type Declared<B, S, C, N> =
  & { [K in Extract<Exclude<S, C>, string>]?: string | Negated<K, N> }
  & { [K in Extract<S & C, string>]: string[] | Negated<K, N> }
  & { [K in Extract<Exclude<B, C>, string>]: boolean }
  & { [K in Extract<B & C, string>]: boolean[] }
  & { [K in Extract<Exclude<C, S | B>, string>]: unknown[] | Negated<K, N> };

type Negated<K, N> = K extends N ? false : never;

type Defaulted<T, D> = [D] extends [undefined] ? T
  :
    & Omit<T, keyof D>
    & {
      [K in keyof D]: K extends keyof T ? D[K] | NonNullable<T[K]> : unknown;
    };

type Aliased<T, A> = { [K in keyof T as K | AliasOf<K, A>]: T[K] };

type AliasOf<K, A> = K extends keyof A ? A[K] extends string ? A[K]
  : A[K] extends readonly (infer Name extends string)[] ? Name
  : never
  : never;
