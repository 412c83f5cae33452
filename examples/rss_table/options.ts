/** The command line of rss_table.ts. */

import { microsoftRssKey, RxHash, RxHashFields } from "@rdma/ibverbs";
import type { RssFlow } from "@rdma/ibverbs/rss";
import { UsageError, whole } from "../support/program.ts";
import { parseFlow } from "./flow.ts";

/** A command line. */
export interface Options {
  /** Whether to use no device. */
  readonly predict: boolean;
  readonly device: string | undefined;
  readonly queues: number;
  readonly entries: number;
  readonly rxHash: RxHash;
  readonly symmetric: boolean;
  /** Flows on the command line. If there are none, they come from standard input. */
  readonly flows: readonly RssFlow[];
}

/** The kernel's limit. */
const MAX_ENTRIES = 8192;

const PAIRS: Readonly<Record<string, number>> = {
  IPV4: RxHashFields.SRC_IPV4 | RxHashFields.DST_IPV4,
  IPV6: RxHashFields.SRC_IPV6 | RxHashFields.DST_IPV6,
  TCP: RxHashFields.SRC_PORT_TCP | RxHashFields.DST_PORT_TCP,
  UDP: RxHashFields.SRC_PORT_UDP | RxHashFields.DST_PORT_UDP,
};

/** The options, as `parseArgs()` of Node takes them. */
export const OPTIONS = {
  predict: { type: "boolean", default: false },
  symmetric: { type: "boolean", default: false },
  device: { type: "string", short: "d" },
  queues: { type: "string", short: "q", default: "4" },
  entries: { type: "string", short: "e" },
  key: { type: "string", short: "k" },
  fields: { type: "string", short: "f", default: "ipv4,ipv6,tcp,udp" },
} as const;

/** What `parseArgs()` has read. */
interface Parsed {
  readonly values: {
    readonly predict: boolean;
    readonly symmetric: boolean;
    readonly device?: string;
    readonly queues: string;
    readonly entries?: string;
    readonly key?: string;
    readonly fields: string;
  };
  readonly positionals: readonly string[];
}

/** Checks the command line. */
export function checkOptions({ values, positionals }: Parsed): Options {
  const { predict, symmetric, device, key, fields } = values;
  const queues = whole(values.queues, "queues", 1, MAX_ENTRIES);
  return {
    ...{ predict, symmetric, device, queues },
    entries: checkEntries(values.entries, queues),
    rxHash: new RxHash({ rxHashKey: parseKey(key), rxHashFieldsMask: parseFields(fields) }),
    flows: positionals.map(parseFlow),
  };
}

/** The number of entries is a power of two. With another number of queues, some queues have more entries than others. */
function checkEntries(text: string | undefined, queues: number): number {
  const least = 2 ** Math.ceil(Math.log2(queues));
  if (text === undefined) return least;
  const entries = whole(text, "entries", 1, MAX_ENTRIES);
  if (entries >= least && Number.isInteger(Math.log2(entries))) return entries;
  throw new UsageError(`--entries takes a power of two from ${least} on, not ${entries}`);
}

function parseKey(text: string | undefined): Uint8Array {
  if (text === undefined) return microsoftRssKey();
  if (/^([0-9a-f]{2}){40}$/i.test(text)) return Uint8Array.fromHex(text);
  throw new UsageError("--key takes 40 bytes as 80 hexadecimal digits");
}

function parseFields(text: string): number {
  const names: Readonly<Record<string, number>> = { ...RxHashFields, ...PAIRS };
  let mask = 0;
  for (const name of text.split(",")) {
    const field = names[name.trim().toUpperCase().replaceAll("-", "_")];
    if (field === undefined) {
      throw new UsageError(`--fields takes ${Object.keys(names).join(", ").toLowerCase()}`);
    }
    mask |= field;
  }
  return mask;
}
