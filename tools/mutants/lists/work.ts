/** Mutants of types/work: requests, their checks and their order in memory. */

import type { MutantsOf } from "../mutant.ts";

export const WORK: readonly MutantsOf[] = [
  {
    file: "types/work/request_buffer.ts",
    tests: ["library/work/post", "library/work/post_lists", "library/work/send_requests"],
    mutants: [
      {
        id: "buffer-length-noted",
        replace: "    this.#sges.setUint32(place, length, true);\n    this.run.noteChange();",
        by: "    this.#sges.setUint32(place, length, true);",
        wrong: "A list is posted unchecked after setLength().",
      },
      {
        id: "buffer-memory-noted",
        replace: "      this.#regions[slot] = undefined;\n    }\n    this.run.noteChange();",
        by: "      this.#regions[slot] = undefined;\n    }",
        wrong: "A list is posted unchecked after its memory changed.",
      },
      {
        id: "buffer-num-sge",
        replace: "    this.words[index * this.#size + NUM_SGE >> 2] = count;\n",
        by: "    this.words[index * this.#size + NUM_SGE >> 2] = this.maxSge;\n",
        wrong: "Native code reads elements that were not given.",
      },
      {
        id: "buffer-last-element",
        replace: "for (let i = this.numSge(index) - 1; i >= 0; i--) {",
        by: "for (let i = this.numSge(index) - 1; i > 0; i--) {",
        wrong: "The first element may be of a region that is disposed.",
      },
      {
        id: "buffer-set-length-max",
        replace: "region.length - this.#offsets[slot]!",
        by: "region.length",
        wrong: "A slice can grow beyond the end of its region.",
      },
      {
        id: "buffer-set-length-sum",
        replace: "this.lengths[index]! += length - this.#sges.getUint32(place, true);",
        by: "this.lengths[index] = length;",
        wrong: "The length of a request is that of its first element.",
      },
      {
        id: "buffer-set-length-none",
        replace: "if (this.words[at + NUM_SGE >> 2] === 0) {",
        by: "if (false) {",
        wrong: "The length of no memory is written where native code does not look.",
      },
      {
        id: "buffer-inline-address",
        replace: "if (addr !== start + BigInt(offset) || end > viewOfRegion(region).byteLength) {",
        by: "if (false) {",
        wrong: "Native code copies inline data from an address that the caller wrote.",
      },
      {
        id: "buffer-inline-region",
        replace:
          '      if (region === undefined) {\n        throw new TypeError(\n          "Cannot send inline',
        by:
          '      if (region === undefined) {\n        continue;\n        throw new TypeError(\n          "Cannot send inline',
        wrong: "Native code copies inline data from any address.",
      },
      {
        id: "buffer-inline-lasting",
        replace: "lasting &&= ownsMemory(region);",
        by: "lasting &&= true;",
        wrong: "Inline data is copied from a buffer that was detached since the last post.",
      },
      {
        id: "buffer-run-end",
        replace: "start + count <= this.capacity)) {",
        by: "start + count <= this.capacity + 1)) {",
        wrong: "A run goes beyond the end of the list.",
      },
      {
        id: "buffer-run-links",
        replace: "      this.#setNext(this.#end, this.#end + 1);\n",
        by: "",
        wrong: "After a short run a longer one is posted in part.",
      },
      {
        id: "buffer-run-ends",
        replace: "      this.#setNext(last, this.capacity);\n",
        by: "",
        wrong: "Requests after the run are posted as well.",
      },
      {
        id: "buffer-run-noted",
        replace: "    this.run.noteChange();\n    const last = start + count - 1;",
        by: "    const last = start + count - 1;",
        wrong: "A run that fails its checks is posted when it is tried again.",
      },
      {
        id: "buffer-element-order",
        replace: "this.#writeElement(first + i, sge[i]!);",
        by: "this.#writeElement(first + sge.length - 1 - i, sge[i]!);",
        wrong: "The parts of a message are sent in another order.",
      },
      {
        id: "buffer-wrid-high",
        replace: "      this.words[(at >> 2) + 1] = 0;\n",
        by: "",
        wrong: "The upper half of the last number of a request stays.",
      },
    ],
  },
  {
    file: "types/work/checked_run.ts",
    tests: ["library/work/post", "library/work/post_lists", "library/work/send_requests"],
    mutants: [
      {
        id: "buffer-checked-rules",
        replace: "return rules === this.#rules && count",
        by: "return this.#rules !== undefined && count",
        wrong: "A list that one queue pair allows is posted to another one unchecked.",
      },
      {
        id: "buffer-checked-generation",
        replace: " &&\n      disposals.count === this.#disposals;",
        by: ";",
        wrong: "A list is posted unchecked after what it uses was disposed.",
      },
      {
        id: "buffer-checked-start",
        replace: " && start === this.#start &&",
        by: " &&",
        wrong: "The run that was posted last is posted instead of another one.",
      },
      {
        id: "buffer-checked-count",
        replace: "count === this.#count && start",
        by: "start",
        wrong: "The run that was posted last is posted instead of a longer one.",
      },
      {
        id: "checked-change",
        replace: "    this.#rules = undefined;\n",
        by: "",
        wrong: "A list is posted unchecked after a request of it changed.",
      },
    ],
  },
  {
    file: "types/work/send_requests.ts",
    tests: ["library/work/post", "library/work/post_lists", "library/work/send_requests"],
    mutants: [
      {
        id: "sends-flags-noted",
        replace: 'uint32(sendFlags, "sendFlags");\n    this.#checked.noteChange();',
        by: 'uint32(sendFlags, "sendFlags");',
        wrong: "A list is posted unchecked after setSendFlags().",
      },
      {
        id: "sends-ah-noted",
        replace: "    if (ah.pd !== this.#run.pd) this.#checked.noteChange();\n",
        by: "",
        wrong: "A handle of another protection domain is posted unchecked.",
      },
      {
        id: "sends-ah-changed",
        replace: "    this.#run.noteAh(index, ah);\n",
        by: "",
        wrong: "A new handle of a list that was posted is not kept until its completion.",
        tests: [
          "library/work/post",
          "library/work/post_lists",
          "library/completion/handle_lifetime",
        ],
      },
      {
        id: "sends-ah-remembered",
        replace: "    this.#ahs[index] = ah;\n    this.#given[index]! |= GIVEN_AH;",
        by: "    this.#given[index]! |= GIVEN_AH;",
        wrong: "The handle of a send is not kept until its completion.",
      },
      {
        id: "sends-rdma-fit",
        replace: 'if (RULES[opcode]!.layout !== "rdma") throw useSetAtomic(opcode);',
        by: "",
        wrong: "setRdma() writes the rkey of an atomic over its operand.",
      },
      {
        id: "sends-imm-order",
        replace: 'setUint32((at + WORD.immData) * 4, uint32(immData, "immData"))',
        by: 'setUint32((at + WORD.immData) * 4, uint32(immData, "immData"), true)',
        wrong: "Immediate data is sent in host byte order.",
      },
      {
        id: "sends-half-way",
        replace: "      list.#checked.noteChange();\n      list.#run.sumUp(",
        by: "      list.#run.sumUp(",
        wrong: "A list that was refused half-way keeps only some of its handles next time.",
      },
      {
        id: "sends-half-way-sum",
        replace: "      list.#run.sumUp(list.#words, start, posted, rules);\n",
        by: "",
        wrong: "Requests that were not posted keep their handles for ever.",
      },
      {
        id: "sends-lasting",
        replace: "if (lasting) buffer.run.noteChecked(",
        by: "buffer.run.noteChecked(",
        wrong: "Inline data of a buffer that can be detached is checked once.",
      },
      {
        id: "sends-check-all",
        replace: "checkSend(buffer, i, this.#given[i]!, this.#ahs[i], rules) && lasting;",
        by: "lasting && checkSend(buffer, i, this.#given[i]!, this.#ahs[i], rules);",
        wrong: "Requests after one with inline data are posted unchecked.",
      },
      {
        id: "sends-alignment",
        replace: "    checkAlignment(opcode, atomic.remoteAddr);\n",
        by: "",
        wrong: "An atomic of a list may be unaligned.",
      },
      {
        id: "sends-given-cleared",
        replace: "this.#given[index] = send.given;",
        by: "this.#given[index]! |= send.given;",
        wrong: "A request counts as complete by attributes that it no longer has.",
      },
    ],
  },
  {
    file: "types/work/send_run.ts",
    tests: ["library/work/post", "library/work/post_lists", "library/completion/handle_lifetime"],
    mutants: [
      {
        id: "run-number",
        replace: "const number = this.#signaled + 1;",
        by: "const number = this.#signaled;",
        wrong: "A handle is destroyed before the completion of its send.",
      },
      {
        id: "run-all-signaled",
        replace: "const signaled = allSignaled || ",
        by: "const signaled = ",
        wrong: "Sends of a queue pair with sqSigAll are not counted.",
      },
      {
        id: "run-last-number",
        replace: "      this.#lastNumbers[this.#count - 1] = number;\n",
        by: "      this.#lastNumbers[this.#count - 1] ||= number;\n",
        wrong: "A handle of several sends is kept for the first one only.",
      },
      {
        id: "run-first-only",
        replace: "for (let i = 0; i < this.#count; i++) {\n      noteSend",
        by: "for (let i = 0; i < 1; i++) {\n      noteSend",
        wrong: "Of several handles only the first one is kept.",
      },
      {
        id: "run-each-last",
        replace: "    noteSend(ah, tracker, before + numbers[last]!);\n",
        by: "",
        wrong: "A changed list does not keep its last handle.",
      },
      {
        id: "run-count-reset",
        replace: "    this.#count = 0;\n    this.#changed = false;",
        by: "    this.#changed = false;",
        wrong: "Handles of an earlier run are kept by this one.",
      },
      {
        id: "run-signaled-reset",
        replace: "    this.#signaled = 0;\n    this.#count = 0;",
        by: "    this.#count = 0;",
        wrong: "Each post counts the sends of earlier posts again.",
      },
      {
        id: "run-only-changed",
        replace: "      this.#changed = true;\n      this.#only = undefined;",
        by: "      this.#changed = true;",
        wrong: "A list of one handle keeps that one only, after a request got another handle.",
      },
      {
        id: "run-single-other",
        replace: "if (index === this.#single) this.#only = ah;",
        by: "if (this.#single >= 0) this.#only = ah;",
        wrong: "A run of one request keeps the handle of a request that is not posted.",
      },
      {
        id: "run-single-reset",
        replace: "    this.#single = -1;\n    if (pd",
        by: "    if (pd",
        wrong: "A list keeps the handle of one request only, after a run of that request.",
      },
      {
        id: "run-only-last",
        replace: "this.#last = this.#lastNumbers[0]!;",
        by: "this.#last = 1;",
        wrong: "The only handle of several sends is kept for the first one only.",
      },
    ],
  },
  {
    file: "types/work/check_send.ts",
    tests: ["library/work/post", "library/work/post_lists"],
    mutants: [
      {
        id: "check-mtu",
        replace: "if (length > maxMessage) {",
        by: "if (false) {",
        wrong: "A datagram beyond the MTU is posted.",
        tests: ["library/work/post", "library/work/post_lists", "library/queue_pair/queue_pair"],
      },
      {
        id: "check-inline-max",
        replace: "if (length > maxInline) {",
        by: "if (length > maxInline + 1) {",
        wrong: "Inline data beyond the limit is posted.",
      },
      {
        id: "check-eight",
        replace: "if (eightBytes && length !== 8) {",
        by: "if (eightBytes && length < 8) {",
        wrong: "An atomic on 16 bytes is posted.",
      },
      {
        id: "check-ah-pd",
        replace: "if (ah.pd !== pd && baseOf(ah.pd) !== pd) {",
        by: "if (false) {",
        wrong: "A handle of another protection domain is posted.",
      },
      {
        id: "check-ah-open",
        replace: "if (!isOpenAh(ah)) throw",
        by: "if (false) throw",
        wrong: "A disposed handle is posted: memory that is freed.",
      },
      {
        id: "check-needs",
        replace: "(rule.consumes ? rules.needs : 0)",
        by: "0",
        wrong: "A datagram without a handle is posted: a null pointer.",
      },
      {
        id: "check-opcode",
        replace: "if ((rules.opcodes >>> opcode & 1) === 0)",
        by: "if (false)",
        wrong: "An opcode that the transport lacks is posted.",
      },
      {
        id: "check-memory",
        replace: "  buffer.assertMemory(index);\n",
        by: "",
        wrong: "A send reads from a region that is disposed.",
      },
      {
        id: "check-parent-domain",
        replace: "ah.pd !== pd && baseOf(ah.pd) !== pd",
        by: "ah.pd !== pd",
        wrong: "A handle of a parent domain is refused by a queue pair of its base.",
        tests: ["library/work/post", "library/work/post_lists", "library/memory/domains"],
      },
    ],
  },
  {
    file: "types/work/posting.ts",
    tests: ["library/work/post", "library/work/post_lists"],
    mutants: [
      {
        id: "posted-start",
        replace: "index < start ? undefined : index - start;",
        by: "index < start ? undefined : index;",
        wrong: "posted counts from the start of the list, not of the run.",
      },
      {
        id: "posted-stale",
        replace: "    BadWr.#address[0] = 0n;\n",
        by: "",
        wrong: "posted is that of an earlier failure if the verb names no request.",
      },
      {
        id: "scratch-reentry",
        replace: "    this.#list = undefined;\n",
        by: "",
        wrong: "A getter that posts overwrites the requests that are being read.",
      },
      {
        id: "scratch-count",
        replace: "      this.count = count;\n",
        by: "      this.count = Math.max(this.count, count);\n",
        wrong: "Requests of an earlier, longer post are sent again.",
      },
      {
        id: "scratch-capacity",
        replace: "list.capacity < count) list",
        by: "list.capacity < 1) list",
        wrong: "A longer post than the first one is refused.",
      },
    ],
  },
  {
    file: "types/work/posters.ts",
    tests: ["library/work/post", "library/work/post_lists"],
    mutants: [
      {
        id: "poster-half-way",
        replace: "noteSome(list, start, posted ?? count, this.rules, this.tracker);",
        by: "noteSome(list, start, count, this.rules, this.tracker);",
        wrong: "Handles of requests that were not posted are kept for ever.",
      },
      {
        id: "poster-unknown",
        replace: "noteSome(list, start, posted ?? count,",
        by: "noteSome(list, start, posted ?? 0,",
        wrong: "Handles of requests that may have been posted are not kept.",
      },
    ],
  },
  {
    file: "types/work/recv_requests.ts",
    tests: ["library/work/post", "library/work/post_lists"],
    mutants: [
      {
        id: "receive-grh",
        replace: "buffer.lengths[index]! < Grh.SIZE",
        by: "buffer.lengths[index]! < Grh.SIZE - 1",
        wrong: "A receive on UD with 39 bytes is posted.",
      },
      {
        id: "receive-memory",
        replace: "  buffer.assertMemory(index);\n",
        by: "",
        wrong: "A receive writes to a region that is disposed.",
      },
    ],
  },
  {
    file: "types/work/send_layout.ts",
    tests: ["library/work/send_requests", "library/provider/sends", "library/work/post"],
    mutants: [
      {
        id: "layout-imm-order",
        replace: "else view.setUint32((at + PLACE.immData) * 4, values.immData);",
        by: "else view.setUint32((at + PLACE.immData) * 4, values.immData, true);",
        wrong: "Immediate data is sent in host byte order.",
      },
      {
        id: "layout-union",
        replace: "  for (let i = 0; i < UNION_WORDS; i++) words[at + UNION + i] = 0;\n",
        by: "",
        wrong: "A request has remains of the one before.",
      },
      {
        id: "layout-atomic-rkey",
        replace: "words[at + PLACE.atomicRkey] = rkey;",
        by: "words[at + PLACE.rdmaRkey] = rkey;",
        wrong: "The rkey of an atomic is written over its operand.",
      },
      {
        id: "layout-swap",
        replace: "view.setBigUint64((at + PLACE.swap) * 4, swap, true);",
        by: "view.setBigUint64((at + PLACE.swap) * 4, compareAdd, true);",
        wrong: "A compare and swap writes the value that it compares with.",
      },
    ],
  },
  {
    file: "types/work/send_values.ts",
    tests: ["library/work/post", "library/work/post_lists", "library/work/send_requests"],
    mutants: [
      {
        id: "values-ah-open",
        replace: '  instance(ah, Ah, "ah");\n',
        by: '  return instance(ah, Ah, "ah");\n',
        wrong: "A request takes a handle that is disposed.",
      },
      {
        id: "values-default-signaled",
        replace: "sendFlags === undefined ? SIGNALED :",
        by: "sendFlags === undefined ? 0 :",
        wrong: "A request has no completion by default.",
      },
      {
        id: "values-clear-flag",
        replace: "(set ? flags | flag : flags & ~flag) >>> 0",
        by: "(set ? flags | flag : flags) >>> 0",
        wrong: "signaled: false has no effect.",
      },
      {
        id: "values-alignment",
        replace: "(remoteAddr & 7n) === 0n",
        by: "(remoteAddr & 3n) === 0n",
        wrong: "An atomic on an address that is a multiple of 4 only is posted.",
      },
      {
        id: "values-fit",
        replace: "  checkFit(opcode, values.given);\n",
        by: "",
        wrong: "Attributes of other opcodes are taken and ignored.",
      },
      {
        id: "values-unknown",
        replace:
          '  for (const name in request) if (!isKnown(name)) throw noAttribute("send request", name);\n',
        by: "",
        wrong: "A misspelt attribute of a request is ignored.",
      },
    ],
  },
  {
    file: "types/work/sge_list.ts",
    tests: ["library/work/post", "library/work/post_lists", "library/work/send_requests"],
    mutants: [
      {
        id: "sge-snapshot",
        replace: "for (let i = 0; i < length; i++) elements",
        by: "for (let i = 0; i < sge.length; i++) elements",
        wrong: "A list that grows while it is read reaches the next request.",
      },
      {
        id: "sge-room",
        replace: "if (length > max) {",
        by: "if (length > max + 1) {",
        wrong: "One element too many is written into the next request.",
      },
      {
        id: "sge-slice-open",
        replace: "    assertWithin(mr, offset, length);\n",
        by: "",
        wrong: "A slice of a disposed region is taken.",
      },
    ],
  },
  {
    file: "types/work/opcodes.ts",
    tests: ["library/work/post", "library/work/post_lists", "library/work/send_requests"],
    mutants: [
      {
        id: "opcodes-ud",
        replace: "[enums.ibv_qp_type.IBV_QPT_UD, setOf([SEND, SEND_WITH_IMM, TSO])]",
        by: "[enums.ibv_qp_type.IBV_QPT_UD, setOf([SEND, SEND_WITH_IMM, TSO, RDMA_WRITE])]",
        wrong: "RDMA on UD is posted.",
      },
      {
        id: "opcodes-read-inline",
        replace: "RDMA_READ: { ...WRITE, has: RDMA | remoteSrqn, inline: false }",
        by: "RDMA_READ: { ...WRITE, has: RDMA | remoteSrqn }",
        wrong: "A read with inline data is posted.",
      },
    ],
  },
];
