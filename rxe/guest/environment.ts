/** The environment variables of a command in the guest. */

import { resolve } from "node:path";
import { userCache } from "../host/paths.ts";

/** The folder of Deno's cache, which the guest has from the host: it has no network. */
export function denoDir(): string {
  return resolve(Deno.env.get("DENO_DIR") || `${userCache()}/deno`);
}

/**
 * The variables that every command has: some of the host, and those that its Deno needs. Deno's cache has packages by
 * the URL of their registry.
 */
export function guestEnvironment(): Record<string, string> {
  const passed = Object.entries(Deno.env.toObject()).filter(([name]) =>
    /^(IBVERBS_|(JSR_URL|NO_COLOR|TERM|LANG)$)/.test(name)
  );
  return {
    ...Object.fromEntries(passed),
    DENO: Deno.execPath(),
    DENO_DIR: denoDir(),
    DENO_NO_UPDATE_CHECK: "1",
    HOME: "/run/home",
    IBVERBS_GUEST: "1",
  };
}
