/** What a command finds in its environment in the guest. */

import { stdArguments } from "../host/jsr.ts";
import { out } from "../host/paths.ts";

/**
 * The variables: the host's own Deno and its cache of modules work in the guest, where there is no
 * network.
 */
export async function guestEnvironment(): Promise<Record<string, string>> {
  const passed = Object.entries(Deno.env.toObject()).filter(([name]) =>
    /^(IBVERBS_|NO_COLOR$|TERM$|LANG$)/.test(name)
  );
  return {
    ...Object.fromEntries(passed),
    DENO: Deno.execPath(),
    DENO_DIR: denoDir(),
    DENO_NO_UPDATE_CHECK: "1",
    HOME: "/run/home",
    IBVERBS_GUEST: "1",
    IBVERBS_OUT: out,
    IBVERBS_STD: (await stdArguments()).join(" "),
  };
}

function denoDir(): string {
  const { DENO_DIR, XDG_CACHE_HOME, HOME } = Deno.env.toObject();
  return DENO_DIR ?? (XDG_CACHE_HOME ? `${XDG_CACHE_HOME}/deno` : `${HOME ?? "/root"}/.cache/deno`);
}
