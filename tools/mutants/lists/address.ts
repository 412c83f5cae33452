/** Mutants of types/address and types/rss: addresses, headers and hashes. */

import type { MutantsOf } from "../mutant.ts";

export const ADDRESS: readonly MutantsOf[] = [
  {
    file: "types/address/gid.ts",
    tests: ["pure/address/gid"],
    mutants: [
      {
        id: "gid-link-local",
        replace: "(this.#bytes[1]! & 0xc0) === 0x80",
        by: "(this.#bytes[1]! & 0xff) === 0x80",
        wrong: "fe90::/10 is link-local as well.",
      },
      {
        id: "gid-copy",
        replace: "    return this.#bytes.slice();",
        by: "    return this.#bytes;",
        wrong: "The caller can change a GID.",
      },
      {
        id: "gid-brand",
        replace: "if (#bytes in gid) return gid.#bytes;",
        by: "return gid.#bytes;",
        wrong: "The message for an object that only looks like a GID does not name the argument.",
        tests: ["library/queue_pair/queue_pair"],
      },
      {
        id: "gid-length",
        replace: "if (this.#bytes.length !== SIZE) {",
        by: "if (this.#bytes.length < SIZE) {",
        wrong: "More than 16 bytes make a GID.",
      },
    ],
  },
  {
    file: "types/address/grh.ts",
    tests: ["pure/address/grh"],
    mutants: [
      {
        id: "grh-traffic-class",
        replace: "this.versionTclassFlow >>> 20 & 0xff",
        by: "this.versionTclassFlow >>> 20 & 0xfff",
        wrong: "The version is part of the traffic class.",
      },
      {
        id: "grh-flow-label",
        replace: "this.versionTclassFlow & 0xf_ffff",
        by: "this.versionTclassFlow & 0xff_ffff",
        wrong: "The flow label has 24 bits.",
      },
      {
        id: "grh-ihl",
        replace: "if (this.ipv4.ihl !== 5) return 6;",
        by: "",
        wrong: "An IPv4 header with options is believed, which C does not.",
      },
      {
        id: "grh-ipv4-destination",
        replace: "this.#bytes.subarray(IPV4_AT + 16, IPV4_AT + 20)",
        by: "this.#bytes.subarray(IPV4_AT + 12, IPV4_AT + 16)",
        wrong: "The packet's receiver is its sender.",
      },
      {
        id: "grh-checksum-fold",
        replace: "(~((sum & 0xffff) + (sum >>> 16)) & 0xffff) === checksum",
        by: "(~(sum & 0xffff) & 0xffff) === checksum",
        wrong: "The carry of the checksum is lost.",
      },
      {
        id: "grh-size",
        replace: "if (this.#bytes.length < SIZE) {",
        by: "if (this.#bytes.length < SIZE - 1) {",
        wrong: "39 bytes make a GRH.",
      },
    ],
  },
  {
    file: "types/address/ah_attr.ts",
    tests: ["pure/address/ah_attr"],
    mutants: [
      {
        id: "ah-attr-sl",
        replace: "sl: { bits: 4 }",
        by: "sl: {}",
        wrong: "A service level of more than 4 bits is taken.",
      },
      {
        id: "ah-attr-global",
        replace: "return isGlobal ?? grh !== undefined;",
        by: "return isGlobal ?? false;",
        wrong: "An address with a GRH is sent without one.",
      },
      {
        id: "ah-attr-flow-label",
        replace: "flowLabel: { bits: 20 }",
        by: "flowLabel: { bits: 24 }",
        wrong: "A flow label of 24 bits is taken.",
      },
    ],
  },
  {
    file: "types/address/ip_address.ts",
    tests: ["pure/address/ip_address"],
    mutants: [
      {
        id: "ip-leading-zero",
        replace: "digit > 9 || part === 0",
        by: "digit > 9",
        wrong: "010 is read as 10, which other programs read as 8.",
      },
      {
        id: "ip-part",
        replace: "return longer > 255 ? -1 : longer;",
        by: "return longer > 256 ? -1 : longer;",
        wrong: "256 is read as 0.",
      },
      {
        id: "ip-second-gap",
        replace: "      if (gap >= 0) return false;\n",
        by: "",
        wrong: "An address with two gaps has several meanings.",
      },
    ],
  },
  {
    file: "types/rss/toeplitz.ts",
    tests: ["pure/rss/toeplitz"],
    mutants: [
      {
        id: "toeplitz-order",
        replace: "if (input[i]! & 0x80 >> bit)",
        by: "if (input[i]! & 1 << bit)",
        wrong: "Bits are taken from the lowest.",
      },
      {
        id: "toeplitz-unsigned",
        replace: "hash ^= tables[i << 8 | input[i]!]!;\n    return hash >>> 0;",
        by: "hash ^= tables[i << 8 | input[i]!]!;\n    return hash;",
        wrong: "Half of the hashes are negative.",
      },
    ],
  },
  {
    file: "types/rss/rss_flow.ts",
    tests: ["pure/rss/rss_flow"],
    mutants: [
      {
        id: "rss-port-order",
        replace: "  input[offset] = port >> 8;\n  input[offset + 1] = port;",
        by: "  input[offset] = port;\n  input[offset + 1] = port >> 8;",
        wrong: "Ports are hashed in the byte order of the host.",
      },
      {
        id: "rss-destination-only",
        replace: "  if (destination) input.copyWithin(offset, offset + size, offset + 2 * size);\n",
        by: "",
        wrong: "The hash over the destination is over the source.",
      },
      {
        id: "rss-other-family",
        replace: "  if (addresses === 0 && (fields & (IPV4 | IPV6)) !== 0) return 0;\n",
        by: "",
        wrong: "Ports of a packet of the other family are hashed.",
      },
    ],
  },
  {
    file: "types/rss/rx_hash.ts",
    tests: ["pure/rss/rx_hash"],
    mutants: [
      {
        id: "rx-hash-key",
        replace: 'const copy = copyOfBytes(key, "rxHashKey");',
        by: "const copy = key as Uint8Array<ArrayBuffer>;",
        wrong: "The caller can change the key of a table.",
      },
    ],
  },
  {
    file: "types/rss/rwq_indirection_table.ts",
    tests: ["library/rss/rwq_indirection_table"],
    mutants: [
      {
        id: "table-entry-context",
        replace: "  if (wq.context === context) return;",
        by: "  return;",
        wrong: "A work queue of another context reaches native code.",
      },
      {
        id: "table-log-size",
        replace: "if (Number.isInteger(log) && log <= MAX_LOG_SIZE) return log;",
        by: "if (log <= MAX_LOG_SIZE) return Math.ceil(log);",
        wrong: "Native code reads handles after the end of a table of three.",
      },
      {
        id: "table-order",
        replace: "workQueues.map(({ unsafeHandle }) => handleAddress(unsafeHandle)),",
        by: "workQueues.map(({ unsafeHandle }) => handleAddress(unsafeHandle)).reverse(),",
        wrong: "Packets go to other queues than workQueueFor() says.",
      },
      {
        id: "table-index",
        replace: "rxHash.hash(flow, options) & (this.workQueues.length - 1)",
        by: "rxHash.hash(flow, options) % Math.max(1, this.workQueues.length - 1)",
        wrong: "workQueueFor() names another queue than the device uses.",
      },
      {
        id: "table-parents",
        replace: "super(KIND, handle, [context, ...entries]);",
        by: "super(KIND, handle, [context]);",
        wrong: "Work queues are destroyed while a table uses them.",
      },
    ],
  },
  {
    file: "types/rss/work_queue.ts",
    tests: ["library/rss/work_queue"],
    mutants: [
      {
        id: "wq-cq-context",
        replace: "if (given.cq.context !== context) {",
        by: "if (false) {",
        wrong: "A completion queue of another context reaches native code.",
      },
      {
        id: "wq-parents",
        replace: "super(KIND, handle, [pd, given.cq]);",
        by: "super(KIND, handle, [pd]);",
        wrong: "The completion queue is destroyed while a work queue uses it.",
      },
      {
        id: "wq-mask",
        replace: "    writeField(view, fields.comp_mask, mask);\n",
        by: "",
        wrong: "The flags of a work queue are ignored.",
      },
      {
        id: "wq-flags-together",
        replace: "  if ((flags === undefined) === (flagsMask === undefined)) return;",
        by: "  return;",
        wrong: "Flags without their mask change nothing, silently.",
      },
      {
        id: "wq-unregister",
        replace: "    unregisterElement(wq);\n",
        by: "",
        wrong: "An event names a work queue that is destroyed.",
        tests: ["library/device/event_elements"],
      },
    ],
  },
];
