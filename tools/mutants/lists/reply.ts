/** Mutants of types/reply: addresses of senders, and the handles that are kept for them. */

import type { MutantsOf } from "../mutant.ts";

export const REPLY: readonly MutantsOf[] = [
  {
    file: "types/reply/reply_address.ts",
    tests: ["pure/reply/reply_address", "library/reply/reply_path"],
    mutants: [
      {
        id: "reply-flow-label",
        replace: "words[FLOW_LABEL] = first & 0xf_ffff;",
        by: "words[FLOW_LABEL] = first & 0xff_ffff;",
        wrong: "The flow label of a reply has bits of the traffic class.",
      },
      {
        id: "reply-traffic-class",
        replace: "routeWord(index, nextAndHops & 0xff, first >>> 20 & 0xff)",
        by: "routeWord(index, nextAndHops & 0xff, first >>> 24 & 0xff)",
        wrong: "The reply has another traffic class.",
      },
      {
        id: "reply-no-grh",
        replace: "if ((wcFlags & GRH_FLAG) === 0) return leave(words, 0);",
        by: "",
        wrong: "Bytes that are no GRH address the reply.",
      },
      {
        id: "reply-multicast",
        replace: "if ((dgid & 0xff) === 0xff) return leave(words, EINVAL);",
        by: "",
        wrong: "A group answers a packet that was sent to it.",
      },
      {
        id: "reply-multicast-ipv4",
        replace: "if ((daddr & 0xf0) === 0xe0) return leave(words, EINVAL);",
        by: "",
        wrong: "An IPv4 group answers a packet that was sent to it.",
      },
      {
        id: "reply-next-header",
        replace: "if (next !== UDP && next !== BTH) return EPROTONOSUPPORT;",
        by: "",
        wrong: "A packet of another protocol is answered.",
      },
      {
        id: "reply-type",
        replace: "    next === UDP,\n",
        by: "    true,\n",
        wrong: "A RoCE v1 packet is answered by RoCE v2.",
      },
      {
        id: "reply-stray-label",
        replace: "if (!this.#hasFlowLabel) this.words[FLOW_LABEL] = 0;",
        by: "",
        wrong: "Random bytes before an IPv4 header make a handle for each packet.",
      },
    ],
  },
  {
    file: "types/reply/grh_memory.ts",
    tests: ["library/reply/reply_path", "library/reply/reply_changes"],
    mutants: [
      {
        id: "grh-memory-generation",
        replace:
          "if (memory !== this.#memory || disposals.count !== this.#disposals) this.#use(memory);",
        by: "if (memory !== this.#memory) this.#use(memory);",
        wrong: "A GRH is read from a region that is disposed: memory that is freed.",
      },
      {
        id: "grh-memory-last",
        replace: "this.#last = length - Grh.SIZE;",
        by: "this.#last = length;",
        wrong: "A GRH is read beyond the end of a slice.",
      },
      {
        id: "grh-memory-detached",
        replace: "this.#disposals = ownsMemory(mr) ? disposals.count : -1;",
        by: "this.#disposals = disposals.count;",
        wrong: "A GRH is read from a buffer that was detached.",
      },
      {
        id: "grh-memory-base",
        replace: "return this.#base + offset;",
        by: "return offset;",
        wrong: "An offset in a slice is counted from the region.",
      },
      {
        id: "grh-memory-offset",
        replace: "offset >>> 0 === offset && offset <= this.#last)\n",
        by: "offset >>> 0 === offset)\n",
        wrong: "An offset beyond the end of memory that is known is not refused.",
      },
    ],
  },
  {
    file: "types/reply/gid_cache.ts",
    tests: ["pure/reply/gid_cache", "library/reply/reply_changes", "library/reply/reply_path"],
    mutants: [
      {
        id: "gid-cache-order",
        replace: "[...entries].sort((a, b) => a.gidIndex - b.gidIndex)",
        by: "[...entries].sort((a, b) => b.gidIndex - a.gidIndex)",
        wrong: "Of two slots with one GID the last one answers, not the first as in C.",
      },
      {
        id: "gid-cache-recent",
        replace: "if (this.#holds(this.#recent, a, b, c, d, type)) return",
        by: "if (this.#slots[this.#recent + TYPE] === type) return",
        wrong: "Every packet is answered by the GID of the one before.",
      },
      {
        id: "gid-cache-size",
        replace: "const size = 2 ** Math.ceil(Math.log2(2 * (entries.length + 1)));",
        by: "const size = 2 ** Math.ceil(Math.log2(entries.length || 1));",
        wrong: "A search for a GID that is not there never ends.",
      },
      {
        id: "gid-cache-port",
        replace: "entries: context.gidTable(port),",
        by: "entries: context.gidTable(),",
        wrong: "A GID of another port answers.",
      },
    ],
  },
  {
    file: "types/reply/peer_hash.ts",
    tests: ["pure/reply/peer_hash"],
    mutants: [
      {
        id: "peer-hash-mix",
        replace: "mix(sum | 0) >>> this.#shift",
        by: "(sum | 0) >>> this.#shift",
        wrong: "By some random factors, a sequence of addresses falls into few buckets.",
      },
    ],
  },
  {
    file: "types/reply/peer_cache.ts",
    tests: ["pure/reply/peer_cache"],
    mutants: [
      {
        id: "peer-cache-recent",
        replace: "    this.#unlink(entry);\n    this.#linkNewest(entry);\n",
        by: "",
        wrong: "A peer that is answered all the time is forgotten.",
      },
      {
        id: "peer-cache-word",
        replace: "entries[at + 6] === key[6] && entries[at + 7] === key[7];",
        by: "entries[at + 6] === key[6];",
        wrong: "Two peers that differ in one word share a handle.",
      },
      {
        id: "peer-cache-full",
        replace: "const full = this.#size === this.#capacity;",
        by: "const full = this.#size === this.#capacity - 1;",
        wrong: "The cache holds one peer less than it was made for.",
      },
      {
        id: "peer-cache-replaced",
        replace: "      return replaced;\n",
        by: "      return undefined;\n",
        wrong: "A handle that was replaced is never closed.",
      },
      {
        id: "peer-cache-hint",
        replace: "if (entry === NONE || !this.#matches(entry, key)) {",
        by: "if (entry === NONE) {",
        wrong: "Two peers whose plain hash is equal share a handle.",
      },
    ],
  },
  {
    file: "types/reply/peer_handles.ts",
    tests: ["library/reply/reply_path", "library/reply/reply_changes"],
    mutants: [
      {
        id: "peers-retired",
        replace: "this.#retired.add(this.#cache.takeAll(), this.#answers + this.#limits.maxPeers);",
        by: "for (const ah of this.#cache.takeAll()) ah.close();",
        wrong: "A handle that was just given out is closed by a change of addresses.",
      },
      {
        id: "peers-changes",
        replace: "    this.#changes++;\n",
        by: "",
        wrong: "A handle that was made before a change of addresses is kept after it.",
      },
      {
        id: "peers-max-pending",
        replace: "if (this.#pending.size >= maxPending) throw tooManyPending(maxPending);",
        by: "",
        wrong: "Senders that do not answer fill the queue without end.",
      },
      {
        id: "peers-abandoned",
        replace: "if (--pending.waiting === 0) this.#end(name, pending);",
        by: "--pending.waiting;",
        wrong: "A call that nobody waits for any more goes on, and counts for ever.",
      },
      {
        id: "peers-evicted",
        replace: "this.#cache.set(words, ah)?.close();",
        by: "this.#cache.set(words, ah);",
        wrong: "Handles of forgotten peers are never destroyed.",
      },
      {
        id: "peers-disposed",
        replace: "ah === undefined || ah.disposed ? undefined : ah",
        by: "ah",
        wrong: "A handle that its user closed is given out again.",
      },
      {
        id: "peers-retired-closed",
        replace: "    stack.use(this.#retired);\n",
        by: "",
        wrong: "Handles of before a change live on after the path was closed.",
      },
    ],
  },
  {
    file: "types/reply/reply_path.ts",
    tests: ["library/reply/reply_path", "library/reply/reply_changes"],
    mutants: [
      {
        id: "path-lid-change",
        replace: "  EventType.LID_CHANGE,\n",
        by: "",
        wrong: "Handles of before a change of the LID are used.",
      },
      {
        id: "path-sm-change",
        replace: "  EventType.SM_CHANGE,\n",
        by: "",
        wrong: "Handles of before a change of the subnet manager are used.",
      },
      {
        id: "path-gid-change",
        replace: "  EventType.GID_CHANGE,\n",
        by: "",
        wrong: "Handles of before a change of the GIDs are used.",
      },
      {
        id: "path-fatal",
        replace: "if (isOfPort || type === EventType.DEVICE_FATAL) this.invalidate();",
        by: "if (isOfPort) this.invalidate();",
        wrong: "Handles of before a failure of the device are used.",
      },
      {
        id: "path-other-port",
        replace: "PORT_EVENTS.has(type) && portNum === port",
        by: "PORT_EVENTS.has(type)",
        wrong: "A change of another port throws all handles away.",
      },
      {
        id: "path-gids",
        replace: "    this.#sender.forget();\n",
        by: "",
        wrong: "Indexes of before a change of the GIDs are used.",
      },
      {
        id: "path-listener",
        replace: "      path.#events.delete(path.#listener);\n",
        by: "",
        wrong: "A closed path throws at the next event.",
      },
      {
        id: "path-poll",
        replace: "if (batch !== this.#batch || pollsOf(batch) !== this.#poll) this.#look(batch);",
        by: "if (batch !== this.#batch) this.#look(batch);",
        wrong: "Changes of addresses are noticed only with another batch.",
      },
      {
        id: "path-disposed",
        replace: "      path.#batch = NO_BATCH;\n      path.#poll = -1;\n",
        by: "",
        wrong: "A closed path gives out handles.",
      },
      {
        id: "path-capacity",
        replace: "if (requests.capacity > this.maxPeers) {",
        by: "if (false) {",
        wrong: "A handle is evicted while it stands in an earlier request of the list.",
      },
      {
        id: "path-trim",
        replace: "    this.#peers.trim();\n",
        by: "",
        wrong: "Handles of before each change live on.",
      },
      {
        id: "path-index",
        replace: "index < this.#capacity)) {",
        by: "index <= this.#capacity)) {",
        wrong: "A completion is read beyond the end of the batch.",
      },
    ],
  },
  {
    file: "types/reply/retired_handles.ts",
    tests: ["pure/reply/retired_handles"],
    mutants: [
      {
        id: "retired-until",
        replace: "answers >= this.#lots[0]!.until",
        by: "answers > this.#lots[0]!.until",
        wrong: "Handles are kept one answer too long.",
      },
    ],
  },
];
