/** Mutants of net: connections, whose tests need a device, and what they share. */

import type { MutantsOf } from "../mutant.ts";

export const NET: readonly MutantsOf[] = [
  {
    file: "net/ud/receiver.ts",
    tests: ["device/net/ud_conn"],
    mutants: [
      {
        id: "net-receiver-length",
        replace: "batch.byteLen(index) - Grh.SIZE",
        by: "batch.byteLen(index)",
        wrong: "A message ends with 40 bytes that the peer did not send.",
      },
      {
        id: "net-receiver-grh",
        replace: "const start = slot * this.#parts.slotSize + Grh.SIZE;",
        by: "const start = slot * this.#parts.slotSize;",
        wrong: "A message begins with its GRH.",
      },
      {
        id: "net-receiver-wrap",
        replace: "return next < this.#slots ? next : next - this.#slots;",
        by: "return next <= this.#slots ? next : next - this.#slots;",
        wrong: "The slot after the last one is used.",
      },
      {
        id: "net-receiver-drop",
        replace: "while (this.#queued > this.#parts.maxQueued) {",
        by: "while (false) {",
        wrong: "Messages that nobody takes are overwritten while they wait.",
      },
      {
        id: "net-receiver-small",
        replace: "if (buffer !== undefined && buffer.length < length) {",
        by: "if (false) {",
        wrong: "A message that does not fit is lost.",
      },
      {
        id: "net-receiver-close",
        replace: "    this.#waiters.rejectAll(this.#failure);\n",
        by: "",
        wrong: "Those who wait for a closed connection wait for ever.",
      },
    ],
  },
  {
    file: "net/ud/sender.ts",
    tests: ["device/net/ud_conn"],
    mutants: [
      {
        id: "net-sender-slot",
        replace: "    this.#free += count;\n",
        by: "",
        wrong: "After sendDepth messages no other one can be sent.",
      },
      {
        id: "net-sender-early",
        replace: "    this.#free--;\n",
        by: "",
        wrong: "A slot is used again while its message is being sent.",
      },
      {
        id: "net-ud-mtu",
        replace: "  if (length <= max) return;\n",
        by: "  return;\n",
        wrong: "A message beyond the MTU is written over the next slot.",
      },
    ],
  },
  {
    file: "net/ud/ud_conn.ts",
    tests: ["device/net/ud_multicast"],
    mutants: [
      {
        id: "net-ud-group",
        replace: "if (!isMulticast(group)) {",
        by: "if (false) {",
        wrong: "A GID that is not one of multicast is joined.",
      },
    ],
  },
  {
    file: "net/ud/peer_table.ts",
    tests: ["device/net/ud_conn", "device/net/ud_peers"],
    mutants: [
      {
        id: "net-peers-equal",
        replace: "if (known !== undefined && this.#equals(known.words)) return known.peer;",
        by: "",
        wrong: "Each datagram of a peer has an address of its own.",
      },
      {
        id: "net-peers-source",
        replace: "    words[WORDS] = batch.srcQp(index);\n",
        by: "",
        wrong: "Two queue pairs of one host are taken for one peer.",
      },
    ],
  },
  {
    file: "net/rc/link.ts",
    tests: ["device/net/rc_conn", "device/net/rc_streams"],
    mutants: [
      {
        id: "net-rc-owed",
        replace: "if (posted) this.#owed -= owed;",
        by: "",
        wrong: "Credits are given to the peer again and again.",
      },
      {
        id: "net-rc-credits",
        replace: "if (2 * this.#owed < credits || ",
        by: "if (true || ",
        wrong: "The peer never gets credits, and stops.",
      },
      {
        id: "net-rc-end",
        replace: "else if (type === END) this.#peerEnded = true;",
        by: "else if (type === END);",
        wrong: "The end of the peer's messages is not noticed.",
      },
      {
        id: "net-rc-leave",
        replace: "    this.#peerEnded = this.#peerLeft = true;\n",
        by: "",
        wrong: "A peer that closed the connection is waited for.",
      },
    ],
  },
  {
    file: "net/rc/inbox.ts",
    tests: ["device/net/rc_conn", "device/net/rc_streams"],
    mutants: [
      {
        id: "net-rc-repost",
        replace: "    if (!isBroken) this.post(slot);\n",
        by: "",
        wrong: "Receives are not posted again, and the peer fails.",
      },
      {
        id: "net-rc-order",
        replace: "const at = (this.#first + this.#size) % credits;",
        by: "const at = this.#size % credits;",
        wrong: "Messages come out of order.",
      },
      {
        id: "net-rc-small",
        replace: "if (buffer !== undefined && buffer.length < length) {",
        by: "if (false) {",
        wrong: "A message that does not fit is lost.",
      },
    ],
  },
  {
    file: "net/rc/exchange.ts",
    tests: ["pure/net/exchange"],
    mutants: [
      {
        id: "net-rc-line",
        replace: "if (length > MAX_LINE) throw invalid(`it is longer than ${MAX_LINE} bytes`);",
        by: "if (length > MAX_LINE) return null;",
        wrong: "A partner that sends too much is not told from one without an address.",
      },
    ],
  },
  {
    file: "net/rc/listen_rc.ts",
    tests: ["device/net/rc_listener"],
    mutants: [
      {
        id: "net-rc-pending",
        replace: "if (this.#attempts.size + this.#ready.length >= this.#maxPending) {",
        by: "if (false) {",
        wrong: "Partners without end take descriptors and memory.",
      },
    ],
  },
  {
    file: "net/shared/turns.ts",
    tests: ["pure/net/turns"],
    mutants: [
      {
        id: "turns-max",
        replace: "calls + 1 >= this.#max ||",
        by: "calls >= this.#max ||",
        wrong: "One more call than the most ends without waiting.",
      },
      {
        id: "turns-slice",
        replace:
          "calls % UNCHECKED === UNCHECKED - 1 && performance.now() - this.#start >= SLICE_MS",
        by: "false",
        wrong: "Slow calls keep timers from running.",
      },
      {
        id: "turns-checked",
        replace: "calls % UNCHECKED === UNCHECKED - 1 && performance",
        by: "calls % UNCHECKED === 0 && performance",
        wrong: "One more slow call follows than 1 ms allows.",
      },
      {
        id: "turns-start",
        replace: "    if (calls === 0) this.#start = performance.now();\n",
        by: "",
        wrong: "The time of earlier calls counts, and soon every few calls wait.",
      },
      {
        id: "turns-reset",
        replace: "    if (isOver) this.#calls = 0;\n",
        by: "",
        wrong: "After the first turn of the event loop every call waits for one.",
      },
    ],
  },
];
