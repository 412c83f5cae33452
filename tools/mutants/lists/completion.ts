/** Mutants of types/completion: polling, events, iterations and the sends that completions end. */

import type { MutantsOf } from "../mutant.ts";

export const COMPLETION: readonly MutantsOf[] = [
  {
    file: "types/completion/send_tracker.ts",
    tests: ["pure/completion/send_tracker", "library/completion/handle_lifetime"],
    mutants: [
      {
        id: "tracker-clamp",
        replace: "Math.min(this.#completed + count, this.#posted)",
        by: "this.#completed + count",
        wrong: "Completions of before a reset count for later sends.",
      },
      {
        id: "tracker-under-way",
        replace: "return number > this.#completed;",
        by: "return number > this.#completed + 1;",
        wrong: "A handle is destroyed one completion too early.",
      },
      {
        id: "tracker-late",
        replace: "return number > this.#completed;",
        by: "return number >= this.#completed;",
        wrong: "A handle is destroyed one completion too late.",
      },
      {
        id: "tracker-ended-unsignaled",
        replace: "this.#completed = ++this.#posted;",
        by: "this.#completed = this.#posted;",
        wrong: "Handles of unsignaled sends live on after a reset.",
      },
      {
        id: "tracker-ended-release",
        replace:
          "    this.#completed = ++this.#posted;\n    if (this.#disposed !== undefined) this.#release(this.#disposed);",
        by: "    this.#completed = ++this.#posted;",
        wrong: "Handles of sends live on after a reset.",
      },
      {
        id: "tracker-release-all",
        replace: "      if (this.isUnderWay(number)) continue;\n",
        by: "",
        wrong: "The first completion destroys every disposed handle's record.",
      },
    ],
  },
  {
    file: "types/completion/sender_table.ts",
    tests: ["pure/completion/sender_table"],
    mutants: [
      {
        id: "table-size",
        replace: "if (this.#numbers[slot] === FREE) this.#size++;",
        by: "this.#size++;",
        wrong: "A queue pair that is added again counts twice, and the table grows without end.",
      },
      {
        id: "table-grow",
        replace: "if (2 * (this.#size + 1) > this.#numbers.length) this.#grow();",
        by: "",
        wrong: "A search for a queue pair that is not there never ends.",
      },
      {
        id: "table-grown",
        replace: "const slot = this.#seek(number);",
        by: "const slot = i;",
        wrong: "After the table has grown, completions do not find their queue pair.",
      },
      {
        id: "table-delete-home",
        replace: "if (distance < (slot - free & mask)) continue;",
        by: "if (distance === 0) continue;",
        wrong: "A number moves to a slot before the one where its search starts.",
      },
      {
        id: "table-delete-stay",
        replace: "if (distance < (slot - free & mask)) continue;",
        by: "continue;",
        wrong: "Numbers behind one that was removed are not found any more.",
      },
      {
        id: "table-delete-free",
        replace: "      free = slot;\n",
        by: "",
        wrong: "The number that moves up is removed, and the other one stays.",
      },
      {
        id: "table-delete-tracker",
        replace: "    this.#trackers[free] = undefined;\n",
        by: "",
        wrong: "Completions count for a queue pair that was destroyed.",
      },
      {
        id: "table-delete-size",
        replace: "    this.#size--;\n",
        by: "",
        wrong: "The table never gets empty, and grows without end.",
      },
    ],
  },
  {
    file: "types/completion/poller.ts",
    tests: [
      "library/completion/queue",
      "library/completion/handle_lifetime",
      "library/queue_pair/queue_pair",
    ],
    mutants: [
      {
        id: "poller-first-qp",
        replace: "const number = words[at + QP_NUM]!;",
        by: "const number = qpNum;",
        wrong: "All completions of a poll count for the queue pair of the first one.",
      },
      {
        id: "poller-switch",
        replace: "      if (sends > 0) senders.get(qpNum)?.completed(sends);\n",
        by: "",
        wrong: "Sends before a completion of another queue pair do not count.",
      },
      {
        id: "poller-switch-reset",
        replace: "      qpNum = number;\n      sends = 0;",
        by: "      qpNum = number;",
        wrong: "Sends of one queue pair count for the next one too.",
      },
      {
        id: "poller-last",
        replace: "  if (sends > 0) senders.get(qpNum)?.completed(sends);\n}",
        by: "}",
        wrong: "The last sends of a poll do not count.",
      },
      {
        id: "poller-status",
        replace: "words[at + STATUS]! | ",
        by: "",
        wrong: "Failed completions, whose opcode is not valid, count as sends.",
      },
      {
        id: "poller-receives",
        replace: " | words[at + OPCODE]! & RECEIVES",
        by: "",
        wrong: "Receives count as sends.",
      },
      {
        id: "poller-too-many",
        replace: "if (count >>> 0 > most) {",
        by: "if (count < 0) {",
        wrong: "A provider that gives too many completions is believed.",
      },
      {
        id: "poller-error-length",
        replace: "      setLength(batch, 0);\n",
        by: "",
        wrong: "After an error the completions of the last poll are read again.",
      },
      {
        id: "poller-backlog-first",
        replace:
          "if (backlog !== undefined && backlog.length > 0) return backlog.moveTo(batch, most);",
        by: "",
        wrong: "Completions that were polled ahead come after later ones.",
      },
      {
        id: "poller-drain-end",
        replace: "for (let left = cqe; left > 0; left -= batch.length) {",
        by: "for (let left = cqe; left > -1e6; left -= batch.length) {",
        wrong: "A drain goes on while completions keep coming.",
      },
      {
        id: "poller-drain-once",
        replace: "left -= batch.length) {",
        by: "left -= cqe) {",
        wrong: "A drain stops after 64 completions.",
      },
      {
        id: "poller-scratch",
        replace: "this.#scratch.capacity < most",
        by: "this.#scratch.capacity < 1",
        wrong: "A larger poll writes beyond the memory of a smaller one.",
      },
    ],
  },
  {
    file: "types/completion/backlog.ts",
    tests: [
      "pure/completion/work_completions",
      "library/completion/queue",
      "library/completion/cq_ex",
    ],
    mutants: [
      {
        id: "backlog-start",
        replace: "    this.#start += count;\n",
        by: "",
        wrong: "Completions are given out twice.",
      },
      {
        id: "backlog-append-order",
        replace: "copy(batch, 0, all, length, batch.length);",
        by: "copy(batch, 0, all, 0, batch.length);",
        wrong: "Newer completions overwrite older ones.",
      },
      {
        id: "backlog-extra",
        replace: "copyBytes(from, source + start * extra, to, target + at * extra, count * extra);",
        by: "copyBytes(from, source, to, target, count * extra);",
        wrong: "Timestamps belong to other completions.",
      },
      {
        id: "backlog-extra-size",
        replace: "const extra = extraOf(to);",
        by: "const extra = extraOf(from);",
        wrong: "A batch without place for extended values is written beyond its end.",
      },
      {
        id: "backlog-most",
        replace: "const count = Math.min(this.length, most);",
        by: "const count = this.length;",
        wrong: "More completions are given out than fit.",
      },
    ],
  },
  {
    file: "types/completion/work_completions.ts",
    tests: ["pure/completion/work_completions"],
    mutants: [
      {
        id: "completions-imm-order",
        replace: "this.#view.getUint32(offsetOf(index) + IMM_DATA)",
        by: "this.#view.getUint32(offsetOf(index) + IMM_DATA, true)",
        wrong: "Immediate data comes in network byte order.",
      },
      {
        id: "completions-at-bound",
        replace: "index >= 0 && index < this.#length",
        by: "index >= 0 && index <= this.#length",
        wrong: "A completion that no poll wrote can be read.",
      },
      {
        id: "completions-polls",
        replace: "      batch.#polls++;\n",
        by: "",
        wrong: "Cached checks of the last poll are used for this one.",
        tests: ["pure/completion/work_completions", "library/reply/reply_path"],
      },
    ],
  },
  {
    file: "types/completion/work_completion.ts",
    tests: ["pure/completion/work_completions", "pure/completion/work_completion"],
    mutants: [
      {
        id: "completion-imm-order",
        replace: "view.getUint32(base + IMM_DATA)",
        by: "view.getUint32(base + IMM_DATA, true)",
        wrong: "Immediate data comes in network byte order.",
      },
      {
        id: "completion-check",
        replace: "if (!this.ok) throw new WorkCompletionError(this);",
        by: "if (this.status > 1) throw new WorkCompletionError(this);",
        wrong: "A message that was too long passes for a success.",
      },
    ],
  },
  {
    file: "types/completion/channel_events.ts",
    tests: ["library/completion/channel", "library/completion/queue"],
    mutants: [
      {
        id: "channel-acknowledge",
        replace: "      verbs().ibv_ack_cq_events(handleAt<IbvCq>(this.#cq[0]!)!, 1);\n",
        by: "",
        wrong: "Destroying a queue waits for ever.",
      },
      {
        id: "channel-acknowledge-twice",
        replace: "handleAt<IbvCq>(this.#cq[0]!)!, 1)",
        by: "handleAt<IbvCq>(this.#cq[0]!)!, 2)",
        wrong: "More events are acknowledged than came.",
      },
      {
        id: "channel-one-waiter",
        replace: "if (this.#source.resolveOne(queue, (key) => key === undefined)) return;",
        by: "if (this.#source.resolve(queue, (key) => key === undefined) > 0) return;",
        wrong: "One event ends several waits.",
      },
      {
        id: "channel-own-waiter-first",
        replace: "    if (this.#source.resolve(queue, (key) => key === queue) > 0) return;\n",
        by: "",
        wrong: "An iteration does not get the events of its queue.",
      },
      {
        id: "channel-unclaimed",
        replace: "    this.#unclaimed.add(queue);\n",
        by: "",
        wrong: "An event that came while nobody waited is lost.",
      },
      {
        id: "channel-unclaimed-once",
        replace: "    this.#unclaimed.delete(claimed);\n",
        by: "",
        wrong: "One event ends every later wait.",
      },
      {
        id: "channel-removed-unclaimed",
        replace: "    this.#unclaimed.delete(queue);\n",
        by: "",
        wrong: "A closed queue is given to the next who waits.",
      },
      {
        id: "channel-removed-waits",
        replace: '    this.#reject("completion queue", (key) => key === queue);\n',
        by: "",
        wrong: "Those who wait for a closed queue wait for ever.",
      },
      {
        id: "channel-removed-others",
        replace: '"completion queue", (key) => key === queue)',
        by: '"completion queue", () => true)',
        wrong: "Closing one queue ends the waits for others.",
      },
      {
        id: "channel-broken",
        replace: 'if (code !== "EAGAIN" && code !== "EINTR") {',
        by: "if (false) {",
        wrong: "A descriptor without its device is read in a busy loop.",
      },
      {
        id: "channel-stale",
        replace: "    this.#queues.delete(id);\n",
        by: "",
        wrong: "A closed queue is kept for ever, and its late event is delivered.",
      },
    ],
  },
  {
    file: "types/completion/completion_queue.ts",
    tests: ["library/completion/queue", "library/completion/channel"],
    mutants: [
      {
        id: "cq-nonblocking",
        replace: "      makeNonblocking(fd);\n",
        by: "",
        wrong: "Reading the last event blocks the process.",
      },
      {
        id: "cq-channel-freed",
        replace: "      verbs().ibv_destroy_comp_channel(handle!);\n",
        by: "",
        wrong: "A channel whose descriptor cannot be used is never destroyed.",
      },
      {
        id: "cq-shared-closed",
        replace: "if (channel === undefined || channel.disposed) {",
        by: "if (channel === undefined) {",
        wrong: "After the shared channel was closed no queue can be made.",
      },
      {
        id: "cq-channel-context",
        replace: "if (channel.context !== context) {",
        by: "if (false) {",
        wrong: "A channel of another context reaches native code.",
      },
      {
        id: "cq-channel-parent",
        replace: "[context, ...(channel === null ? [] : [channel]), ...parents]",
        by: "[context, ...parents]",
        wrong: "A channel is destroyed while queues use it.",
      },
      {
        id: "cq-unregister",
        replace: "    unregisterElement(cq);\n",
        by: "",
        wrong: "An event names a queue that is destroyed.",
        tests: ["library/device/event_elements"],
      },
      {
        id: "cq-drain-wakes",
        replace: "      if (cq.channel !== null) eventsOf(cq.channel).wake(cq);\n",
        by: "",
        wrong: "Completions that a reset polled ahead wait for an event that never comes.",
      },
      {
        id: "cq-drain-error",
        replace: "        cq.#poller.drain(cq.unsafeHandle, cq.cqe);\n      } catch {",
        by: "        cq.#poller.drain(cq.unsafeHandle, cq.cqe);\n      } finally {",
        wrong: "A queue that cannot be polled makes a reset fail after it was done.",
      },
      {
        id: "cq-sender-removed",
        replace: "      cq.#poller.senders.delete(qpNum);\n",
        by: "",
        wrong: "The tracker of a destroyed queue pair counts sends of a new one.",
        tests: ["library/queue_pair/queue_pair", "library/completion/queue"],
      },
      {
        id: "cq-solicited",
        replace: 'Number(boolean(solicitedOnly, "solicitedOnly"))',
        by: "0",
        wrong: "Every completion makes an event although only solicited ones were asked for.",
      },
      {
        id: "cq-vector",
        replace: "Math.max(0, context.numCompVectors - 1)",
        by: "context.numCompVectors",
        wrong: "A completion vector that the device does not have is taken.",
      },
      {
        id: "cq-id",
        replace: "    id: nextId++,",
        by: "    id: nextId,",
        wrong: "The events of all queues go to the last one.",
      },
      {
        id: "cq-ops",
        replace: "if (hasContextOp(context.unsafeHandle, op)) continue;",
        by: "continue;",
        wrong: "Polling calls a null pointer.",
      },
    ],
  },
  {
    file: "types/completion/completions.ts",
    tests: ["pure/completion/completions"],
    mutants: [
      {
        id: "iteration-poll-after-arm",
        replace: "if (polls <= spin) continue;",
        by: "",
        wrong: "A completion that came before arming is found only at the next event.",
      },
      {
        id: "iteration-arm",
        replace: "if (polls > spin) arm();",
        by: "",
        wrong: "The wait never ends.",
      },
      {
        id: "iteration-yield",
        replace: "if (this.#source.signal?.aborted || this.#slice.isOver()) return undefined;",
        by: "if (this.#source.signal?.aborted) return undefined;",
        wrong: "Timers do not run while completions keep coming.",
      },
      {
        id: "iteration-abort",
        replace: "if (this.#source.signal?.aborted || this.#slice.isOver()) return undefined;",
        by: "if (this.#slice.isOver()) return undefined;",
        wrong: "An aborted iteration goes on while completions keep coming.",
      },
      {
        id: "iteration-order",
        replace: "this.#running === undefined ? step() : this.#running.then(step, step)",
        by: "step()",
        wrong: "Two steps at once give completions out of order.",
      },
      {
        id: "iteration-ended",
        replace: "    if (this.#ended) return END;\n",
        by: "",
        wrong: "An iteration goes on after its end.",
      },
      {
        id: "iteration-slow",
        replace: ": 1;\n    this.#checked = now;",
        by: ": MAX_UNCHECKED;\n    this.#checked = now;",
        wrong: "Slow processing of completions keeps timers from running.",
      },
    ],
  },
  {
    file: "types/completion/poller_ex.ts",
    tests: ["library/completion/cq_ex"],
    mutants: [
      {
        id: "poller-ex-end",
        replace: "    this.#end(cq);\n",
        by: "",
        wrong: "The poll stays open, and the provider keeps its lock.",
      },
      {
        id: "poller-ex-bound",
        replace: "while (++count < most && this.#next(cq) === 0);",
        by: "while (++count > 0 && this.#next(cq) === 0);",
        wrong: "More completions are read than the batch has room for.",
      },
      {
        id: "poller-ex-bound-order",
        replace: "while (++count < most && this.#next(cq) === 0);",
        by: "while ((++count, this.#next(cq)) === 0 && count < most);",
        wrong: "One completion is taken from the queue and lost.",
      },
      {
        id: "poller-ex-empty",
        replace: 'errnoName(result) === "ENOENT" ? 0 : -Math.abs(result)',
        by: "0",
        wrong: "A broken queue looks empty.",
      },
      {
        id: "poller-ex-failed",
        replace: "    if (status !== SUCCESS) return this.#readFailed(cq, view, base);\n",
        by: "",
        wrong: "Values of a failed request, which are not valid, are read.",
      },
    ],
  },
  {
    file: "types/completion/completion_queue_ex.ts",
    tests: ["library/completion/cq_ex"],
    mutants: [
      {
        id: "cq-ex-readers",
        replace: "if (missing === undefined) return;",
        by: "return;",
        wrong: "A reader that the provider lacks is called: a null pointer.",
      },
      {
        id: "cq-ex-freed",
        replace: "  verbs().ibv_destroy_cq(verbs().ibv_cq_ex_to_cq(cq)!);\n",
        by: "",
        wrong: "A queue that cannot be read is never destroyed.",
      },
      {
        id: "cq-ex-qp-num",
        replace: "(flags as number) | CreateCqWcFlags.WITH_QP_NUM",
        by: "(flags as number)",
        wrong: "Completions do not say whose they are, and handles are not tracked.",
      },
    ],
  },
];
