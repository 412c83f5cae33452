/** Architectures that thunks are written for, named as in `Deno.build.arch`. */
export type Arch = "x86_64" | "aarch64";

/** A function of the image: where it leads, and whether it keeps errno. Parameters are integers and pointers only. */
export interface Thunk {
  /** Name of the exported symbol, a C identifier. */
  readonly name: string;
  /**
   * The C function behind it: at a fixed `address`, or found at each call by following `path` from the first argument,
   * or from the one that `argument` counts from 0. `[0, 96]` is `*(*(arg0 + 0) + 96)`. Offsets are in bytes, multiples
   * of 8 from -4088 to 32760.
   *
   * Nothing on the way is checked for NULL: the caller does.
   */
  readonly target: { readonly address: bigint } | {
    readonly path: readonly number[];
    readonly argument?: 0 | 1;
  };
  /**
   * Number of C parameters (0 to 7), when errno is to be kept. The thunk then takes one parameter more, last, an
   * `int *` that receives the errno of the call (0 if it set none), on whichever thread it runs. Without it the thunk
   * is a plain jump.
   */
  readonly errnoAfter?: number;
}

/** The code around the load of a thunk's target. It is the same for all thunks with the same number of parameters. */
export interface Frame {
  readonly before: Uint8Array;
  readonly after: Uint8Array;
}

/** The machine code of an architecture. */
export interface Code {
  /** The code around the load of the target that keeps errno, or only jumps if `parameters` is undefined. */
  readonly frameOf: (parameters: number | undefined, errnoLocation: bigint) => Frame;
  /** The code that puts the address of the C function into a register that no argument uses. */
  readonly loadTarget: (thunk: Thunk) => ArrayLike<number>;
}
