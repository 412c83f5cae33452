import type { Context } from "../../mod.ts";
import type { Options } from "./options.ts";
import { PingPong } from "./ping_pong.ts";
import type { MakeEndpoint } from "./endpoint.ts";

/** More than the default depth of the receive queue, so that refilling it is compiled too. */
const ROUND = 1000;
const IDLE_TURNS = 100;
const IDLE_POLLS = 10;

/**
 * Runs ping-pongs with itself, so that the measurement shows the messages and not V8's compiler. The C tool is compiled
 * already. Each ping-pong is short and disposes its objects: V8 discards code that it optimized before the first object
 * was disposed.
 */
export function warmUp(context: Context, options: Options, make: MakeEndpoint): void {
  for (let left = options.warmUp; left > 0; left -= ROUND) {
    using endpoint = make(context, { ...options, replyFromWc: false });
    endpoint.connect(endpoint.addresses);
    const pingPong = new PingPong(endpoint, { ...options, iters: Math.min(left, ROUND) });
    // A message to itself arrives at once. One from a peer does not, so empty polls are compiled too.
    for (let i = 0; i < IDLE_TURNS; i++) pingPong.turn(IDLE_POLLS);
    pingPong.start();
    pingPong.poll();
  }
}
