/**
 * What the tools, the tests and the benchmarks take of the package that runs the guest: its messages, programs of this host,
 * and packages of Debian. Its users need all of this, so it stays in rxe/; here is the only way to it.
 */

export { withFreshLists } from "../../rxe/host/apt.ts";
export { fillFromArchive } from "../../rxe/host/archive.ts";
export { cached, digest } from "../../rxe/host/cached.ts";
export { denoCommand } from "../../rxe/host/deno_command.ts";
export {
  cachedPackages,
  dependencyOf,
  downloadPackage,
  ensurePackages,
  fetchPackage,
  type Need,
  unpack,
} from "../../rxe/host/packages.ts";
export { cacheFolder } from "../../rxe/host/paths.ts";
export { main, say, SetupError } from "../../rxe/host/report.ts";
export { capture, demand, exists, type Finished, lastLines } from "../../rxe/host/shell.ts";
export { type KernelName, KERNELS, type UserlandName, USERLANDS } from "../../rxe/host/systems.ts";
export { DENO_WITHIN, ensureUserland, within } from "../../rxe/host/userland.ts";
