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

/** The code around the load of a thunk's target. It is the same for all thunks with so many parameters. */
export interface Frame {
  readonly before: Uint8Array;
  readonly after: Uint8Array;
}

// The verbs with most parameters, `ibv_reg_dmabuf_mr` and `ibv_rereg_mr`, have 6.
const MAX_PARAMETERS = 7;
// The reach of one aarch64 instruction each way: sub #imm12 below, ldr #imm12 (scaled by 8) above.
const MIN_OFFSET = -4088;
const MAX_OFFSET = 32760;
const MAX_ADDRESS = 2n ** 64n - 1n;

/**
 * Checks what would otherwise become a crash.
 *
 * @throws {TypeError} For a name that is no C identifier or is there twice, an empty path, or a path without a first
 * argument to start from.
 * @throws {RangeError} For an address, an offset or a number of parameters out of range.
 */
export function checkThunks(
  thunks: readonly Thunk[],
  errnoLocation: bigint,
): void {
  const names = new Set<string>();
  for (const thunk of thunks) {
    checkName(thunk.name, names);
    checkParameters(thunk);
    checkTarget(thunk);
  }
  if (thunks.some((thunk) => thunk.errnoAfter !== undefined)) {
    checkAddress("__errno_location", errnoLocation);
  }
}

function checkName(name: string, names: Set<string>): void {
  if (!/^[A-Za-z_]\w*$/.test(name)) {
    throw new TypeError(
      `Cannot build thunk "${name}": the name is not a C identifier`,
    );
  }
  if (names.has(name)) {
    throw new TypeError(
      `Cannot build thunk "${name}": the name is there twice`,
    );
  }
  names.add(name);
}

function checkParameters({ name, target, errnoAfter }: Thunk): void {
  if (errnoAfter === undefined) return;
  if (
    !Number.isInteger(errnoAfter) || errnoAfter < 0 ||
    errnoAfter > MAX_PARAMETERS
  ) {
    throw new RangeError(
      `Cannot build thunk "${name}": errnoAfter is ${errnoAfter}, expected 0 to ${MAX_PARAMETERS}`,
    );
  }
  if (errnoAfter === 0 && "path" in target) {
    throw new TypeError(
      `Cannot build thunk "${name}": a path needs a first argument`,
    );
  }
}

function checkTarget({ name, target }: Thunk): void {
  if ("address" in target) return checkAddress(name, target.address);
  if (target.path.length === 0) {
    throw new TypeError(`Cannot build thunk "${name}": the path is empty`);
  }
  for (const offset of target.path) checkOffset(name, offset);
}

function checkAddress(name: string, address: bigint): void {
  if (address <= 0n || address > MAX_ADDRESS) {
    throw new RangeError(
      `Cannot build thunk "${name}": address ${address} is not a pointer`,
    );
  }
}

function checkOffset(name: string, offset: number): void {
  if (offset < MIN_OFFSET || offset > MAX_OFFSET || offset % 8 !== 0) {
    throw new RangeError(
      `Cannot build thunk "${name}": offset ${offset} is not a multiple of 8 from ${MIN_OFFSET} to ${MAX_OFFSET}`,
    );
  }
}
