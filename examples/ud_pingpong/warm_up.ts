import type { Context } from "@rdma/ibverbs";
import { Endpoint } from "./endpoint.ts";
import type { Options } from "./options.ts";
import { Rally } from "./rally.ts";

/** Longer than the default depth of the receive queue, so that refilling it is practised too. */
const MATCH = 1000;
const IDLE_TURNS = 100;
const IDLE_POLLS = 10;

/**
 * Plays against itself. The tool at the other end was compiled long ago; this way the time taken is that of the
 * datagrams and not of V8 at work. Matches are short, because code that was optimized while no object had ever been
 * disposed is thrown away when the first one is.
 */
export function warmUp(context: Context, options: Options): void {
  for (let left = options.warmUp; left > 0; left -= MATCH) {
    playAlone(context, { ...options, iters: Math.min(left, MATCH) });
  }
}

function playAlone(context: Context, options: Options): void {
  using endpoint = new Endpoint(context, options);
  endpoint.activate();
  endpoint.aimAt(endpoint.address);
  const rally = new Rally(endpoint, options);
  // A message to oneself is there at once, one from a peer is waited for.
  for (let i = 0; i < IDLE_TURNS; i++) rally.turn(IDLE_POLLS);
  rally.serve();
  rally.poll();
}
