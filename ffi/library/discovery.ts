/** Finds libibverbs. */

import type { AnyFunction } from "../function_pointer.ts";
import { libc } from "../libc.ts";
import { checkPlatform } from "../platform.ts";
import { cString } from "../pointers.ts";
import { installCommands, osRelease } from "./remedy.ts";

const SONAME = "libibverbs.so.1";
const DIRECTORIES = [
  `/usr/lib/${Deno.build.arch}-linux-gnu`,
  `/lib/${Deno.build.arch}-linux-gnu`,
  "/usr/lib64",
  "/lib64",
  "/usr/lib",
  "/usr/local/lib",
];

/** The loader of glibc does not find musl, which libraries of Alpine Linux need. */
const NEEDS_MUSL = /\blibc\.musl-\w+\.so/;
const MUSL = "it is built for musl, which is not supported, only glibc is";

/** What Deno puts before the words of the loader, once or twice. */
const DENOS_WORDS = /^(Could not open library: )+/;

let opened: string | undefined;

/**
 * Opens libibverbs on the first call.
 *
 * @returns The name or path that it was opened by.
 * @throws {Deno.errors.NotSupported} If the system or Deno is not supported.
 * @throws {Deno.errors.NotFound} Where it cannot be opened, naming each path tried with its reason and the remedy.
 * @throws {Deno.errors.NotCapable} Without `--allow-ffi`; one that is narrowed to paths does not suffice.
 */
export function libraryPath(): string {
  return opened ??= open();
}

function open(): string {
  checkPlatform();
  const failures: string[] = [];
  for (const path of candidates()) {
    try {
      Deno.dlopen(path, {});
      return path;
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) throw error;
      failures.push(`  ${path}: ${(error as Error).message.replace(DENOS_WORDS, "")}`);
    }
  }
  const tried = failures.join("\n");
  if (NEEDS_MUSL.test(tried)) {
    throw new Deno.errors.NotSupported(`Cannot open libibverbs: ${MUSL}, tried:\n${tried}`);
  }
  const remedy =
    `Install it (${installCommands(osRelease())}), or set IBVERBS_LIBRARY to its path ` +
    "and allow reading it (--allow-env=IBVERBS_LIBRARY)";
  throw new Deno.errors.NotFound(`Cannot open libibverbs, tried:\n${tried}\n${remedy}`);
}

/** Opens a symbol of a library, for calls on another thread if the definition says so. */
export function openSymbol(
  path: string,
  name: string,
  { parameters, result, nonblocking = false }: Deno.ForeignFunction,
): AnyFunction {
  return Deno.dlopen(path, { [name]: { parameters, result, nonblocking } }).symbols[name]!;
}

// dlfcn.h, alike on both architectures
const RTLD_NOW = 2;
let handle: Deno.PointerValue = null;

/** The address of a symbol of libibverbs; 0 if the installed version does not have it. */
export function symbolAddress(name: string): bigint {
  handle ??= libc().dlopen(cString(libraryPath()), RTLD_NOW);
  return Deno.UnsafePointer.value(libc().dlsym(handle, cString(name)));
}

/**
 * Whether the installed libibverbs exports a symbol.
 *
 * @category Operations of a device
 */
export function hasSymbol(name: string): boolean {
  return symbolAddress(name) !== 0n;
}

function candidates(): string[] {
  const chosen = environment("IBVERBS_LIBRARY");
  if (chosen) return [chosen];
  return [SONAME, ...DIRECTORIES.map((directory) => `${directory}/${SONAME}`)];
}

/**
 * An environment variable, where the permission to read it has been given already: the library asks for none but
 * `--allow-ffi`, and never prompts.
 */
export function environment(variable: string): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "env", variable });
  return state === "granted" ? Deno.env.get(variable) : undefined;
}
