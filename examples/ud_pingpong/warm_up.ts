import type { Context } from "@rdma/ibverbs";
import type { Options } from "../pingpong/options.ts";
import { PingPong } from "../pingpong/ping_pong.ts";
import { Endpoint } from "./endpoint.ts";

/** More than the default depth of the receive queue, so that refilling it is compiled too. */
const ROUND = 1000;
const IDLE_TURNS = 100;
const IDLE_POLLS = 10;

/**
 * Runs ping-pongs with itself, so that the measurement shows the datagrams and not V8's compiler. The C tool is compiled
 * already. Each ping-pong is short and disposes its objects: V8 discards code that it optimized before the first object
 * was disposed.
 */
export function warmUp(context: Context, options: Options): void {
  for (let left = options.warmUp; left > 0; left -= ROUND) {
    runAlone(context, { ...options, iters: Math.min(left, ROUND) });
  }
}

function runAlone(context: Context, options: Options): void {
  using endpoint = new Endpoint(context, options);
  endpoint.activate();
  endpoint.sendTo(endpoint.address);
  const pingPong = new PingPong(endpoint, options);
  // A message to itself arrives at once. One from a peer does not, so empty polls are compiled too.
  for (let i = 0; i < IDLE_TURNS; i++) pingPong.turn(IDLE_POLLS);
  pingPong.start();
  pingPong.poll();
}
