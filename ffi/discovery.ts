/**
 * Finds libibverbs: `IBVERBS_LIBRARY` if that may be read and is set, then the soname, then the places where
 * distributions put it, in case the loader does not look there.
 *
 * @module
 */

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

/** The opened library and the name that opened it. */
export interface Opened {
  /** Soname or path. */
  readonly path: string;
  /** The symbols asked for; null where the library lacks one. */
  readonly symbols: Record<string, unknown>;
}

/**
 * Opens libibverbs.
 *
 * @throws {Error} Where it cannot be opened, naming each path tried with its reason and the remedy.
 * @throws {Deno.errors.NotCapable} Without `--allow-ffi`; one that is narrowed to paths does not suffice.
 */
export function openLibrary(symbols: Deno.ForeignLibraryInterface): Opened {
  checkPlatform();
  const failures: string[] = [];
  for (const path of candidates()) {
    try {
      return { path, symbols: Deno.dlopen(path, allOptional(symbols)).symbols };
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) throw error;
      failures.push(`  ${path}: ${(error as Error).message}`);
    }
  }
  throw new Error(`Cannot open libibverbs, tried:\n${failures.join("\n")}\n${REMEDY}`);
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

/** An older library lacks the newer verbs: they fail when called, not all others with them. */
function allOptional(symbols: Deno.ForeignLibraryInterface): Deno.ForeignLibraryInterface {
  return Object.fromEntries(
    Object.entries(symbols).map(([name, symbol]) => [name, { ...symbol, optional: true }]),
  );
}
