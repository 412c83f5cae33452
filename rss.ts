/**
 * Predicts how devices hash packets for receive side scaling (RSS). It opens no library and needs no device and no
 * permission.
 *
 * ```ts
 * import { microsoftRssKey, rssInput, RxHashFields, toeplitz } from "@rdma/ibverbs/rss";
 *
 * const flow = { srcIp: "66.9.149.187", dstIp: "161.142.100.80" };
 * const input = rssInput(flow, RxHashFields.SRC_IPV4 | RxHashFields.DST_IPV4);
 * console.log(toeplitz(microsoftRssKey(), input).toString(16)); // 323e8fc2
 * ```
 *
 * **Where to go next.**
 *
 * - The bytes that are hashed: `rssInput`, or `writeRssInput` into a buffer that is reused.
 * - The hash of many inputs by one key: `ToeplitzKey`.
 * - The work queue of a flow: `RxHash.hash()` and `RwqIndirectionTable.workQueueFor()` of `@rdma/ibverbs`.
 *
 * @module
 */

export {
  MAX_RSS_INPUT,
  type RssFlow,
  rssInput,
  type RssInputOptions,
  writeRssInput,
} from "./types/rss/rss_flow.ts";
export { RxHashFields } from "./types/rss/rx_hash.ts";
export { microsoftRssKey, toeplitz, ToeplitzKey } from "./types/rss/toeplitz.ts";
