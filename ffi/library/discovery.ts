/**
 * Finds libibverbs: `IBVERBS_LIBRARY` if that may be read and is set, then the soname, then the places where
 * distributions put it, in case the loader does not look there.
 *
 * @module
 */

import { libc } from "../libc.ts";
import { environment } from "./environment.ts";

const SONAME = "libibverbs.so.1";
const DIRECTORIES = [
  `/usr/lib/${Deno.build.arch}-linux-gnu`,
  `/lib/${Deno.build.arch}-linux-gnu`,
  "/usr/lib64",
  "/lib64",
  "/usr/lib",
  "/usr/local/lib",
];
const REMEDY =
  `Install it ("apt-get install libibverbs1 ibverbs-providers" on Debian and Ubuntu, ` +
  `"dnf install libibverbs" on Fedora), or set IBVERBS_LIBRARY to its path and allow reading it ` +
  `(--allow-env=IBVERBS_LIBRARY)`;

let opened: string | undefined;

/**
 * Opens libibverbs on the first call.
 *
 * @returns The name or path that it was opened by.
 * @throws {Error} Where it cannot be opened, naming each path tried with its reason and the remedy.
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
      failures.push(`  ${path}: ${(error as Error).message}`);
    }
  }
  throw new Error(`Cannot open libibverbs, tried:\n${failures.join("\n")}\n${REMEDY}`);
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

function cString(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${text}\0`);
}

function checkPlatform(): void {
  const { os, arch } = Deno.build;
  if (os !== "linux" || (arch !== "x86_64" && arch !== "aarch64")) {
    throw new Error(`Cannot open libibverbs: ${os} on ${arch} is not supported, only Linux is`);
  }
}

function candidates(): string[] {
  const chosen = environment("IBVERBS_LIBRARY");
  if (chosen) return [chosen];
  return [SONAME, ...DIRECTORIES.map((directory) => `${directory}/${SONAME}`)];
}
