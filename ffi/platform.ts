import { requireDeno } from "../internal/runtime.ts";

/**
 * The lowest version of Deno with which all tests pass. Before 2.7.12 a Worker that waits leaves a descriptor behind
 * when it ends. Before 2.7.6 the buffers of a call on another thread are freed while the call uses them.
 */
export const LOWEST_DENO = "2.7.12";

/** The part of `Deno.build` that decides. */
type Build = Pick<typeof Deno.build, "os" | "arch" | "env">;

/**
 * Checks that the library works here.
 *
 * @throws {Error} If this is not Deno.
 * @throws {Deno.errors.NotSupported} If it does not, with the reason.
 */
export function checkPlatform(): void {
  requireDeno();
  const fault = faultOf(Deno.build, Deno.version.deno);
  if (fault === undefined) return;
  throw new Deno.errors.NotSupported(`Cannot open libibverbs: ${fault}`);
}

/** Why the library does not work on such a system; undefined if it does. */
export function faultOf({ os, arch, env }: Build, deno: string): string | undefined {
  if (os !== "linux" || (arch !== "x86_64" && arch !== "aarch64")) {
    return `${os} on ${arch} is not supported, only Linux on x86_64 and aarch64 is`;
  }
  if (env === "musl") {
    return "a Deno that is built for musl is not supported, only one for glibc is";
  }
  if (isBelow(deno, LOWEST_DENO)) {
    return `Deno ${deno} is not supported, only ${LOWEST_DENO} and newer are; run "deno upgrade"`;
  }
  return undefined;
}

/**
 * Compares versions number by number. A canary has the number of the next release, and a suffix. `localeCompare()` would
 * load the rules of languages, which takes 7 ms.
 */
export function isBelow(version: string, lowest: string): boolean {
  const numbers = version.split(".").map((part) => parseInt(part));
  const limits = lowest.split(".").map(Number);
  const differing = limits.findIndex((limit, i) => numbers[i] !== limit);
  return numbers[differing]! < limits[differing]!;
}
