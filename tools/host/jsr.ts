/** Where @std comes from: the registry, or on machines that cannot reach it the adapters in tools/std. */

import denoJson from "../../deno.json" with { type: "json" };
import { capture } from "./setup.ts";
import { inProject } from "./paths.ts";

// A machine whose network swallows requests should not hold up a test run for longer.
const PROBE_SECONDS = 10;

let found: Promise<string[]> | undefined;

/** Arguments for Deno that let the bare specifiers of @std resolve. */
export function stdArguments(): Promise<string[]> {
  found ??= reachable().then((yes) =>
    yes ? [] : [`--import-map=${inProject("tools/std/import_map.json")}`]
  );
  return found;
}

/** Downloads the packages into Deno's cache, from which the guest, without a network, has them too. */
async function reachable(): Promise<boolean> {
  const packages = Object.values(denoJson.imports).filter((specifier) =>
    specifier.startsWith("jsr:")
  );
  const deno = [Deno.execPath(), "cache", "--quiet", "--no-config", ...packages];
  const { status } = await capture("timeout", "--signal=KILL", `${PROBE_SECONDS}`, ...deno);
  return status === 0;
}
