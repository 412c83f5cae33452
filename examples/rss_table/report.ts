/** The output of rss_table.ts. */

import {
  type Context,
  namesOf,
  QpType,
  type RwqIndirectionTable,
  type RxHash,
  RxHashFields,
  RxHashFunction,
} from "@rdma/ibverbs";
import type { RssFlow } from "@rdma/ibverbs/rss";
import { formatFlow } from "./flow.ts";

/** Length of the longest bar in characters. */
const BAR = 40;

/** A flow and the work queue that receives it. */
export interface Landing {
  readonly flow: RssFlow;
  readonly hash: number;
  readonly entry: number;
  readonly queue: number;
}

/** The RSS limits of a device. */
export function describeCaps(context: Context): string {
  const { rssCaps, maxWqTypeRq } = context.queryDeviceEx();
  const types = Object.entries(QpType).filter(([_, type]) => rssCaps.supportedQpts & 1 << type);
  return section(`RSS of ${context.device.name} (struct ibv_rss_caps)`, [
    ["supportedQpts", types.map(([name]) => name).join(", ") || "none"],
    ["maxRwqIndirectionTables", rssCaps.maxRwqIndirectionTables],
    ["maxRwqIndirectionTableSize", `${rssCaps.maxRwqIndirectionTableSize} entries`],
    ["rxHashFunction", flagNames(RxHashFunction, rssCaps.rxHashFunction)],
    ["rxHashFieldsMask", flagNames(RxHashFields, Number(rssCaps.rxHashFieldsMask))],
    ["maxWqTypeRq", `${maxWqTypeRq} work queues`],
  ]);
}

/** How packets are hashed. */
export function describeHash(rxHash: RxHash, symmetric: boolean): string {
  return section("hash (struct ibv_rx_hash_conf)", [
    ["rxHashFunction", flagNames(RxHashFunction, rxHash.rxHashFunction)],
    ["rxHashKey", rxHash.rxHashKey.toHex()],
    ["rxHashFieldsMask", flagNames(RxHashFields, rxHash.rxHashFieldsMask)],
    ["symmetric", symmetric ? "yes, as mlx5 does" : "no"],
  ]);
}

/** The work queue of each entry of a table. */
export function describeTable(table: RwqIndirectionTable): string {
  return section(
    `indirection table ${table.indTblNum} (struct ibv_rwq_ind_table), ${table.size} entries`,
    table.workQueues.map((wq, entry) => [`entry ${entry}`, `work queue ${wq.wqNum}`]),
  );
}

/** The hash, table entry and queue of each flow. */
export function describeLandings(landings: readonly Landing[]): string {
  const lines = landings.map(({ flow, hash, entry, queue }) =>
    [
      hash.toString(16).padStart(8, "0"),
      String(entry).padStart(5),
      String(queue).padStart(5),
      ` ${formatFlow(flow)}`,
    ].join(" ")
  );
  return ["hash     entry queue  flow", ...lines].join("\n");
}

/** The number of flows of each queue. */
export function describeSpread(landings: readonly Landing[], queues: readonly number[]): string {
  const counts = new Map(queues.map((queue) => [queue, 0]));
  for (const { queue } of landings) counts.set(queue, counts.get(queue)! + 1);
  const most = Math.max(...counts.values());
  const lines = [...counts].map(([queue, count]) => {
    const share = `${(100 * count / landings.length).toFixed(1)}%`.padStart(6);
    const bar = "#".repeat(Math.round(BAR * count / most));
    return `${String(queue).padStart(5)} ${String(count).padStart(6)} ${share} ${bar}`.trimEnd();
  });
  return ["queue  flows  share", ...lines].join("\n");
}

/** A heading and the fields below it, aligned. */
function section(
  heading: string,
  fields: readonly (readonly [name: string, value: unknown])[],
): string {
  const width = Math.max(...fields.map(([name]) => name.length));
  const lines = fields.map(([name, value]) => `    ${name.padEnd(width)}  ${value}`);
  return [`  ${heading}`, ...lines].join("\n");
}

/** The names and number of a set of flags. */
function flagNames(members: Readonly<Record<string, number>>, value: number): string {
  return `${value === 0 ? "none" : namesOf(members, value).replaceAll("|", " | ")} (${value})`;
}
