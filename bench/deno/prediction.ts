/** Predicting the work queue of a flow. */

import { MAX_RSS_INPUT, writeRssInput } from "../../types/rss/rss_flow.ts";
import { microsoftRssKey, ToeplitzKey } from "../../types/rss/toeplitz.ts";
import { enums } from "../../ffi/layout.ts";
import type { Context } from "../../mod.ts";
import { Clock, type Plan } from "./clock.ts";

const FIELD = enums.ibv_rx_hash_fields;
const FIELDS = FIELD.IBV_RX_HASH_SRC_IPV4 | FIELD.IBV_RX_HASH_DST_IPV4 |
  FIELD.IBV_RX_HASH_SRC_PORT_TCP | FIELD.IBV_RX_HASH_DST_PORT_TCP;

/** TCP flows over IPv4, addresses as text, to one of 128 queues. */
export function predict(_context: Context, plan: Plan): number {
  const key = new ToeplitzKey(microsoftRssKey());
  const input = new Uint8Array(MAX_RSS_INPUT);
  const flow = {
    source: "192.0.2.1",
    destination: "198.51.100.7",
    protocol: "tcp" as const,
    sourcePort: 0,
    destinationPort: 443,
  };
  let sum = 0;
  const clock = new Clock(plan);
  while (clock.part()) {
    for (let i = 0; i < plan.count; i++) {
      flow.sourcePort = i & 0xffff;
      sum += key.hash(input, writeRssInput(input, flow, FIELDS)) & 127;
    }
  }
  return clock.middle;
}
