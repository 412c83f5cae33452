/** Mutants of types/queue_pair and types/address_handle. */

import type { MutantsOf } from "../mutant.ts";

export const QUEUE_PAIR: readonly MutantsOf[] = [
  {
    file: "types/queue_pair/queue_pair.ts",
    tests: [
      "library/queue_pair/queue_pair",
      "library/work/post",
      "library/completion/handle_lifetime",
    ],
    mutants: [
      {
        id: "qp-drain",
        replace: "if (tracker.awaitsCompletion) drain(this.#sendCq!);",
        by: "",
        wrong: "Completions of before a reset are taken for those of the sends after it.",
      },
      {
        id: "qp-reset-ends",
        replace: "      if (endsSends) qp.#endSends();\n",
        by: "",
        wrong: "Handles of sends that a reset dropped live for ever.",
      },
      {
        id: "qp-sender-added",
        replace:
          "      if (this.#tracker !== undefined) addSender(sendCq, this.qpNum, this.#tracker);\n",
        by: "",
        wrong: "Completions do not end the use of handles.",
      },
      {
        id: "qp-sender-removed",
        replace: "    if (this.#sendCq !== undefined) removeSender(this.#sendCq, this.qpNum);\n",
        by: "",
        wrong: "The tracker of a destroyed queue pair counts sends of a new one.",
      },
      {
        id: "qp-groups-left",
        replace: "    this.#groups.detachAll(handle);\n",
        by: "",
        wrong: "A queue pair in a multicast group can never be destroyed.",
      },
      {
        id: "qp-parents",
        replace: "const parents = [pd, ...present([sendCq, recvCq, srq, xrcd, rwqIndTbl])];",
        by: "const parents = [pd, ...present([sendCq, srq, xrcd, rwqIndTbl])];",
        wrong: "The receive queue's completion queue is destroyed while it is used.",
      },
      {
        id: "qp-parent-srq",
        replace: "present([sendCq, recvCq, srq, xrcd, rwqIndTbl])",
        by: "present([sendCq, recvCq, xrcd, rwqIndTbl])",
        wrong: "A shared receive queue is destroyed while it is used.",
        tests: ["library/srq/srq", "library/queue_pair/queue_pair"],
      },
      {
        id: "qp-rules-changed",
        replace: "    sender.rules = { ...sender.rules, maxMessage };",
        by: "    Object.assign(sender.rules, { maxMessage });",
        wrong: "A list that was checked by a larger MTU is posted unchecked.",
      },
      {
        id: "qp-max-inline",
        replace: "maxInline: this.cap.maxInlineData,",
        by: "maxInline: Infinity,",
        wrong: "Inline data beyond the limit is posted.",
      },
      {
        id: "qp-post-ops",
        replace: "if (needed.some((op) => op !== undefined && !hasContextOp(context, op))) {",
        by: "if (false) {",
        wrong: "Posting calls a null pointer.",
      },
      {
        id: "qp-unregister",
        replace: "    unregisterElement(this);\n",
        by: "",
        wrong: "An event names a queue pair that is destroyed.",
        tests: ["library/device/event_elements"],
      },
      {
        id: "qp-destroy-ends",
        replace: "    unregisterElement(this);\n    this.#endSends();",
        by: "    unregisterElement(this);",
        wrong: "Handles of a destroyed queue pair live for ever.",
      },
      {
        id: "qp-signal-all",
        replace: "this.#sender = this.#makeSender(sqSigAll);",
        by: "this.#sender = this.#makeSender(false);",
        wrong: "Sends of a queue pair with sqSigAll are not counted.",
      },
      {
        id: "qp-grh",
        replace: "needsGrh: this.type === QpType.UD",
        by: "needsGrh: false",
        wrong: "A receive on UD without room for the GRH is posted.",
      },
      {
        id: "qp-verb",
        replace: 'verb === "ibv_create_qp"\n        ? ',
        by: 'verb !== "ibv_create_qp"\n        ? ',
        wrong: "The attributes of an extended queue pair are ignored.",
      },
    ],
  },
  {
    file: "types/queue_pair/queue_pair_states.ts",
    tests: [
      "library/queue_pair/queue_pair_parts",
      "library/queue_pair/queue_pair",
      "library/completion/handle_lifetime",
    ],
    mutants: [
      {
        id: "states-sqe",
        replace: "return qpState === QpState.RTS && (curQpState ?? from) === QpState.SQE;",
        by: "return false;",
        wrong: "Handles of sends that an error dropped live for ever.",
      },
      {
        id: "states-reset",
        replace: "if (qpState === QpState.RESET) return true;",
        by: "",
        wrong: "Handles of sends that a reset dropped live for ever.",
      },
      {
        id: "states-any",
        replace: "return qpState === QpState.RTS && (curQpState ?? from) === QpState.SQE;",
        by: "return qpState === QpState.RTS;",
        wrong: "Handles are destroyed while their sends are under way.",
      },
      {
        id: "states-alt-port",
        replace: "[portNum, altPortNum, ahAttr?.portNum, altAhAttr?.portNum]",
        by: "[portNum, altPortNum, ahAttr?.portNum]",
        wrong: "The port of the alternate path is not checked.",
      },
      {
        id: "states-port-first",
        replace:
          "    const maxMessage = this.#maxMessage(port);\n    const result = verbs().ibv_modify_qp(this.#handle, view, mask);",
        by:
          "    const result = verbs().ibv_modify_qp(this.#handle, view, mask);\n    const maxMessage = this.#maxMessage(port);",
        wrong: "modify() throws after the device has done it.",
      },
      {
        id: "states-empty",
        replace:
          'if (mask === 0) throw new TypeError("Cannot modify queue pair: no attribute is given");',
        by: "",
        wrong: "An empty change is silent.",
      },
      {
        id: "states-sqd",
        replace: "given.portNum ?? this.#port",
        by: "given.portNum",
        wrong: "After a change without a port the MTU is not checked any more.",
        tests: ["library/queue_pair/queue_pair", "library/work/post"],
      },
    ],
  },
  {
    file: "types/queue_pair/qp_attr.ts",
    tests: ["library/queue_pair/queue_pair_parts", "library/queue_pair/queue_pair"],
    mutants: [
      {
        id: "qp-attr-alt-path",
        replace: "altAhAttr: { mask: MASK.ALT_PATH, struct: ahAttrCodec }",
        by: "altAhAttr: { mask: MASK.AV, struct: ahAttrCodec }",
        wrong: "The alternate path replaces the path.",
      },
      {
        id: "qp-attr-psn",
        replace: "rqPsn: { mask: MASK.RQ_PSN, bits: 24 }",
        by: "rqPsn: { mask: MASK.SQ_PSN, bits: 24 }",
        wrong: "The packet number of receives is written as that of sends.",
      },
      {
        id: "qp-attr-retry",
        replace: "rnrRetry: { mask: MASK.RNR_RETRY, max: 7 }",
        by: "rnrRetry: { mask: MASK.RNR_RETRY }",
        wrong: "A retry count of more than 3 bits is taken.",
      },
      {
        id: "qp-attr-timeout",
        replace: "timeout: { mask: MASK.TIMEOUT, bits: 5 }",
        by: "timeout: { mask: MASK.TIMEOUT }",
        wrong: "A time-out of more than 5 bits is taken.",
      },
    ],
  },
  {
    file: "types/queue_pair/qp_init_attr.ts",
    tests: ["library/queue_pair/queue_pair_parts", "library/queue_pair/queue_pair"],
    mutants: [
      {
        id: "qp-init-context",
        replace: "if (part !== undefined && part.context !== context) {",
        by: "if (false) {",
        wrong: "A queue of another context reaches native code.",
      },
      {
        id: "qp-init-pd",
        replace: "const parent = handleAddress(pd.unsafeHandle);",
        by: "const parent = 0n;",
        wrong: "An extended queue pair has no protection domain.",
      },
      {
        id: "qp-init-verb",
        replace: 'verb: compMask === MASK.PD ? "ibv_create_qp" : "ibv_create_qp_ex"',
        by: 'verb: "ibv_create_qp_ex"',
        wrong: "Providers without extended queue pairs cannot make any.",
      },
      {
        id: "qp-init-source",
        replace: "return (flags | QpCreateFlags.SOURCE_QPN) >>> 0;",
        by: "return flags;",
        wrong: "The source queue pair number is ignored.",
      },
      {
        id: "qp-init-sges",
        replace: "maxRecvSge: Number(hasRecvQueue(attributes)),",
        by: "maxRecvSge: 0,",
        wrong: "A receive queue has no room for memory.",
      },
      {
        id: "qp-init-send-cq",
        replace:
          'if (sendCq === undefined) throw refusal("without an indirection table it takes sendCq");',
        by: "",
        wrong: "A queue pair without a send completion queue reaches native code.",
      },
      {
        id: "qp-init-srq",
        replace: "if (srq !== undefined && (cap.maxRecvWr || cap.maxRecvSge)) {",
        by: "if (false) {",
        wrong: "Receives of a queue pair with a shared queue are asked for and never there.",
        tests: ["library/queue_pair/queue_pair", "library/srq/srq"],
      },
    ],
  },
  {
    file: "types/queue_pair/multicast.ts",
    tests: ["library/queue_pair/queue_pair_parts", "library/queue_pair/queue_pair"],
    mutants: [
      {
        id: "multicast-noted",
        replace: "    this.#groups.set(name, group);\n",
        by: "",
        wrong: "A queue pair does not leave its groups, and can never be destroyed.",
      },
      {
        id: "multicast-left",
        replace: "    this.#groups.delete(name);\n  }",
        by: "  }",
        wrong: "A group that was left is left again at the end.",
      },
      {
        id: "multicast-left-at-close",
        replace: " === 0) this.#groups.delete(name);",
        by: " === 0);",
        wrong: "A second close() leaves groups that were left already.",
      },
      {
        id: "multicast-bytes",
        replace: 'const bytes = bytesOfGid(gid, "gid");',
        by: "const { bytes } = gid;",
        wrong: "A subclass of Gid can give native code fewer than 16 bytes.",
      },
      {
        id: "multicast-lid",
        replace: '`${bytes.toHex()} ${uint16(lid, "lid")}`',
        by: '`${bytes.toHex()} ${uint16(lid, "lid") && 0}`',
        wrong: "Of two groups with one GID only one is left.",
      },
    ],
  },
  {
    file: "types/queue_pair/activation.ts",
    tests: ["library/queue_pair/queue_pair_parts", "library/queue_pair/activation"],
    mutants: [
      {
        id: "activation-mtu",
        replace: "const mtu = Math.min(mtuBytes(context.queryPort(port).activeMtu), peer);",
        by: "const mtu = mtuBytes(context.queryPort(port).activeMtu);",
        wrong: "The path has an MTU that the peer does not have.",
      },
      {
        id: "activation-reads",
        replace: "Math.min(context.queryDevice().maxQpInitRdAtom, peer, 255)",
        by: "Math.min(context.queryDevice().maxQpInitRdAtom, 255)",
        wrong: "More reads are outstanding than the peer can answer.",
      },
      {
        id: "activation-psn",
        replace: "rqPsn: peer.psn,",
        by: "rqPsn: chosen.psn,",
        wrong: "The first packet of the peer is dropped.",
      },
      {
        id: "activation-psn-bits",
        replace: "new Uint32Array(1))[0]! & 0xff_ffff",
        by: "new Uint32Array(1))[0]! & 0xffff",
        wrong: "Packet numbers are easy to guess.",
      },
      {
        id: "activation-peer-gid",
        replace: "  if (peer.gid === undefined) {\n",
        by: "  if (false) {\n",
        wrong: "A path without the peer's GID is set up.",
      },
    ],
  },
  {
    file: "types/queue_pair/wr_poster.ts",
    tests: ["library/queue_pair/queue_pair_ex", "library/queue_pair/queue_pair_parts"],
    mutants: [
      {
        id: "builder-abort",
        replace: "      ibv_wr_abort(this.#handle);\n",
        by: "",
        wrong: "The provider keeps its lock after a failure.",
      },
      {
        id: "builder-noted",
        replace:
          "if (sender.tracker !== undefined) run.posted(sender.tracker);\n      else if (run.binds)",
        by: "if (run.binds)",
        wrong: "Handles of builders are not kept until the completion.",
      },
      {
        id: "builder-failed-noted",
        replace:
          "if (sender.tracker !== undefined) noteSome(this.list, 0, count, sender.rules, sender.tracker);",
        by: "",
        wrong: "Handles of requests that may have been posted are not kept.",
      },
      {
        id: "builder-id-high",
        replace: "    native[WR_ID + 1] = words[at + 1]!;\n",
        by: "",
        wrong: "Numbers of requests have 32 bits.",
      },
      {
        id: "builder-growth",
        replace: "      larger.set(this.#bytes);\n",
        by: "",
        wrong: "Inline data of earlier requests is lost when the memory grows.",
      },
      {
        id: "builder-rdma-order",
        replace: "return v.ibv_wr_rdma_read(qp, rdmaRkey, this.#remoteAddr(at));",
        by: "return v.ibv_wr_rdma_write(qp, rdmaRkey, this.#remoteAddr(at));",
        wrong: "A read writes.",
      },
    ],
  },
  {
    file: "types/queue_pair/bind_mw.ts",
    tests: ["library/queue_pair/options", "library/memory/memory_window"],
    mutants: [
      {
        id: "bind-pd",
        replace: "if (baseOf(pd) !== baseOf(qp.pd)) {",
        by: "if (false) {",
        wrong: "A window is bound to a region of another protection domain.",
      },
      {
        id: "bind-kept",
        replace: "noteBind(mw, binding.length === 0 ? undefined : binding.mr);",
        by: "",
        wrong: "A region is deregistered while a window is bound to it.",
      },
    ],
  },
  {
    file: "types/address_handle/address_handle.ts",
    tests: [
      "library/queue_pair/queue_pair_parts",
      "library/address_handle/address_handle",
      "library/completion/handle_lifetime",
      "library/work/post",
    ],
    mutants: [
      {
        id: "ah-in-use",
        replace: "    isInUse: (ah) => ah.#isInUse(),\n",
        by: "",
        wrong: "A handle is destroyed while a send uses it.",
      },
      {
        id: "ah-tracker",
        replace: "      if (ah.#tracker !== tracker) ah.#switchTracker(tracker);\n",
        by: "      ah.#tracker = tracker;\n",
        wrong: "A handle of two queue pairs is kept by one of them only.",
      },
      {
        id: "ah-last-send",
        replace: "      ah.#lastSend = number;\n",
        by: "      ah.#lastSend ||= number;\n",
        wrong: "A handle is kept until the first of its sends.",
      },
      {
        id: "ah-when-done",
        replace: "    tracker.whenDone(number, this);\n",
        by: "",
        wrong: "A handle closed while in use is never destroyed.",
      },
      {
        id: "ah-high",
        replace: "this.#high = HALVES[1]!;",
        by: "this.#high = 0;",
        wrong: "Native code gets half of a pointer.",
      },
      {
        id: "ah-discard",
        replace: "  if (value !== null) verbs().ibv_destroy_ah(value);\n",
        by: "",
        wrong: "A handle made after its abort is never destroyed.",
      },
      {
        id: "ah-port",
        replace: "  checkPort(pd.context, written.given.portNum);\n",
        by: "",
        wrong: "A port that the device does not have reaches native code.",
      },
      {
        id: "ah-errno",
        replace: "        if (value === null) throw createError(errno, pd, given);\n",
        by: "        if (value === null) throw createError(0, pd, given);\n",
        wrong: "An asynchronous failure has no reason.",
      },
    ],
  },
  {
    file: "types/address_handle/sends_under_way.ts",
    tests: ["pure/address_handle/sends_under_way"],
    mutants: [
      {
        id: "under-way-forget",
        replace: "if (!tracker.isUnderWay(number)) this.#numbers.delete(tracker);",
        by: "",
        wrong: "A handle keeps a tracker for every queue pair that ever used it.",
      },
      {
        id: "under-way-limit",
        replace: "if (this.#numbers.size < this.#limit) return;",
        by: "return;",
        wrong: "A handle keeps trackers of many queue pairs until it is closed.",
      },
    ],
  },
  {
    file: "types/address_handle/wc_address.ts",
    tests: ["library/address_handle/address_handle", "library/reply/reply_path"],
    mutants: [
      {
        id: "wc-slid",
        replace: 'slid: uint16(slid, "slid")',
        by: "slid",
        wrong: "slid 65537 addresses LID 1.",
      },
      {
        id: "wc-sl",
        replace: 'sl: uint8(sl, "sl")',
        by: "sl",
        wrong: "Bits of the service level spill into other fields.",
      },
    ],
  },
  {
    file: "types/address_handle/resolve_eth_l2_from_gid.ts",
    tests: ["library/address_handle/resolve_eth_l2_from_gid"],
    mutants: [
      {
        id: "resolve-no-vlan",
        replace: "const NO_VLAN = 0xffff;",
        by: "const NO_VLAN = 0xfffe;",
        wrong: "No VLAN is VLAN 65535.",
      },
      {
        id: "resolve-errno",
        replace: "const value = result === -1 ? errno : Math.abs(result);",
        by: "const value = Math.abs(result);",
        wrong: "A failure with errno has the reason EPERM.",
      },
    ],
  },
  {
    file: "types/address_handle/hints.ts",
    tests: ["library/queue_pair/queue_pair_parts", "library/address_handle/address_handle"],
    mutants: [
      {
        id: "hint-families",
        replace:
          "if (sgid.isIpv4Mapped === dgid.isIpv4Mapped || dgid.isMulticast) return undefined;",
        by: "if (sgid.isIpv4Mapped === dgid.isIpv4Mapped) return undefined;",
        wrong: "A multicast address is blamed for its family.",
      },
      {
        id: "hint-table",
        replace: "if (grh.sgidIndex >= port.gidTblLen) {",
        by: "if (grh.sgidIndex > port.gidTblLen) {",
        wrong: "The first index beyond the table is not named as the cause.",
      },
    ],
  },
];
