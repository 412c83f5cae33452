/** Finds libibverbs, librdmacm and libefa. */

import { type AnyFunction, callThrough, type FunctionPointer } from "../function_pointer.ts";
import { constants } from "../layout.ts";
import { libc } from "../libc.ts";
import { askForFfi, hasBroker } from "../permission.ts";
import { placesOf } from "../places.ts";
import { checkPlatform } from "../platform.ts";
import { cString } from "../pointers.ts";
import type { NativeRow } from "../table/row.ts";
import { installCommands, type LibraryName, osRelease } from "./remedy.ts";

/** The loader of glibc does not find musl, which libraries of Alpine Linux need. */
const NEEDS_MUSL = /\blibc\.musl-\w+\.so/;
const MUSL = "it is built for musl, which is not supported, only glibc is";

/** What Deno puts before the message of the loader, once or twice. */
const DENOS_WORDS = /(Could not open library: )+/;

/** How a library is found. */
interface Sought {
  readonly name: LibraryName;
  readonly soname: string;
  /** A function that each version of it has. */
  readonly has: string;
  /** The environment variable that may have its path. */
  readonly variable: string;
  /** A library that it is linked with. */
  readonly needs?: Sought;
}

/** What the loader says about a library that another one is linked with. */
const MISSING = /^(\S+\.so[.\d]*): cannot open shared object file/;

/** A library of the system, opened on first use and never closed. */
export class NativeLibrary {
  readonly #sought: Sought;
  #path: string | undefined;
  #handle: Deno.PointerValue = null;

  /** Opens nothing yet. */
  constructor(sought: Sought) {
    this.#sought = sought;
  }

  /** The library in messages. */
  get name(): LibraryName {
    return this.#sought.name;
  }

  /**
   * Opens the library on the first call.
   *
   * @returns The name or path that it was opened by.
   * @throws {Deno.errors.NotSupported} If the system or Deno is not supported.
   * @throws {Deno.errors.NotFound} If it cannot be opened. The message names each path tried, with the reason, and the
   * remedy.
   * @throws {Deno.errors.NotCapable} Without `--allow-ffi` for all paths.
   */
  path(): string {
    return this.#path ??= open(this.#sought);
  }

  /** The address of a symbol; 0 if the installed version does not have it. */
  symbolAddress(name: string): bigint {
    this.#handle ??= libc().dlopen(cString(this.path()), constants.RTLD_NOW);
    return Deno.UnsafePointer.value(libc().dlsym(this.#handle, cString(name)));
  }

  /** Whether the installed version exports a symbol. */
  has(name: string): boolean {
    return this.symbolAddress(name) !== 0n;
  }
}

const VERBS: Sought = {
  name: "libibverbs",
  soname: "libibverbs.so.1",
  has: "ibv_get_device_list",
  variable: "IBVERBS_LIBRARY",
};

/** The library of verbs. */
export const libibverbs: NativeLibrary = new NativeLibrary(VERBS);

/** The library of connections by address. */
export const librdmacm: NativeLibrary = new NativeLibrary({
  name: "librdmacm",
  soname: "librdmacm.so.1",
  has: "rdma_create_event_channel",
  variable: "RDMACM_LIBRARY",
  needs: VERBS,
});

/** The library of Elastic Fabric Adapters. */
export const libefa: NativeLibrary = new NativeLibrary({
  name: "libefa",
  soname: "libefa.so.1",
  has: "efadv_query_device",
  variable: "EFA_LIBRARY",
  needs: VERBS,
});

function open(sought: Sought): string {
  checkPlatform();
  askForFfi();
  const { name, soname, has, variable, needs } = sought;
  // Otherwise the loader takes the system's.
  if (needs !== undefined && environment(needs.variable)) libibverbs.path();
  const paths = candidates(soname, variable);
  const failures: string[] = [];
  let missing: string | undefined;
  let isRefused = false;
  for (const path of paths) {
    try {
      Deno.dlopen(path, { [has]: { parameters: [], result: "void" } });
      return path;
    } catch (error) {
      const reason = (error as Error).message.replace(DENOS_WORDS, "");
      failures.push(`  ${path}: ${reason}`);
      isRefused ||= error instanceof Deno.errors.NotCapable;
      const [, named = path] = MISSING.exec(reason) ?? [];
      if (named !== path) missing ??= named;
    }
  }
  const tried = failures.join("\n");
  // A permission broker has refused: it is asked for each path.
  if (isRefused) {
    throw new Deno.errors.NotCapable(`Cannot open ${name}: access is refused, tried:\n${tried}`);
  }
  if (NEEDS_MUSL.test(tried)) {
    throw new Deno.errors.NotSupported(`Cannot open ${name}: ${MUSL}, tried:\n${tried}`);
  }
  const cause = missing === undefined ? "" : `: it is there, and needs ${missing}, which is not`;
  throw new Deno.errors.NotFound(
    `Cannot open ${name}${cause}, tried:\n${tried}\n${remedyOf(sought, missing)}`,
  );
}

/** What to do about a library, or about one that it is linked with. */
function remedyOf({ name, soname, variable, needs }: Sought, missing = soname): string {
  if (missing === needs?.soname) return remedyOf(needs);
  if (missing !== soname) return `Install the package that has ${missing}`;
  return `Install it (${installCommands(osRelease(), name)}), or set ${variable} to its path ` +
    `and allow reading it (--allow-env=${variable})`;
}

/** A function of a library, called through a pointer. */
export function callSymbol(path: string, name: string, row: NativeRow): AnyFunction {
  const { [name]: pointer } = Deno.dlopen(path, { [name]: { type: "pointer" } }).symbols;
  return callThrough(pointer as FunctionPointer, row);
}

/** Opens a symbol of a library, for calls on another thread if the definition says so. */
export function openSymbol(
  path: string,
  name: string,
  { parameters, result, nonblocking = false }: Deno.ForeignFunction,
): AnyFunction {
  return Deno.dlopen(path, { [name]: { parameters, result, nonblocking } }).symbols[name]!;
}

/**
 * Whether the installed libibverbs exports a symbol.
 *
 * @category Operations of a device
 */
export function hasSymbol(name: string): boolean {
  return libibverbs.has(name);
}

function candidates(soname: string, variable: string): string[] {
  const chosen = environment(variable);
  if (chosen) return [chosen];
  return placesOf(soname);
}

/**
 * An environment variable, if the permission to read it is given already, or a permission broker gives it. The library
 * prompts the user for no permission but `--allow-ffi`, which it must have by now.
 */
export function environment(variable: string): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "env", variable });
  if (state !== "granted" && !hasBroker()) return undefined;
  try {
    return Deno.env.get(variable);
  } catch {
    // The broker refuses.
    return undefined;
  }
}
