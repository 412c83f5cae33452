import { toCaller } from "../../internal/caller.ts";
import { structs } from "../../ffi/layout.ts";
import { bufferPointer } from "../../ffi/pointers.ts";
import { listOf, object } from "../../internal/checks.ts";
import { Grh } from "../address/grh.ts";
import type { AhCore } from "../address_handle/address_handle.ts";
import type { SendTracker } from "../completion/send_tracker.ts";
import { nameOf } from "../core/enums.ts";
import { failure, type VerbsError } from "../core/errors.ts";
import { assertOpen, type Resource } from "../core/resource.ts";
import { assertBindable, windowCore } from "../memory/memory_window.ts";
import type { ProtectionDomain } from "../memory/protection_domain.ts";
import {
  attributeNamesOf,
  CONSUMING,
  DATAGRAM,
  EIGHT_BYTES,
  FIELDS,
  has,
  INLINE,
  NEEDS,
  RDMA,
} from "./attributes.ts";
import { type Layout, NativeList } from "./native_list.ts";
import { nativeOf, RecvRequestList, SendRequestList, writeRecv, writeSend } from "./requests.ts";
import { type RecvRequest, SendFlags, type SendRequest, WrOpcode } from "./work_request.ts";

/** A verb that posts, such as `ibv_post_send`, what it does, and the likely cause of its failure by errno's name. */
export interface PostVerb {
  readonly verb: string;
  readonly action: string;
  readonly hint: (code: string) => string | undefined;
}

/**
 * Where verbs that post write the address of the request that they refuse (`bad_wr`). One place serves all queues: what
 * a verb writes is read before the next one is called.
 */
const BAD_WR = new BigUint64Array(1);
let badWr: Deno.PointerObject | undefined;

/**
 * What posting to all kinds of queues has in common. The class of each queue calls the verb itself: Deno does not compile
 * a call that leads to different verbs to a native call.
 */
abstract class Poster<R extends object> {
  /** The last argument of the verb. */
  readonly badWr: Deno.PointerObject = badWr ??= bufferPointer(BAD_WR);
  readonly #verb: PostVerb;
  readonly #write: (list: NativeList, index: number, request: R) => void;
  readonly #makeList: (capacity: number) => NativeList;
  /** Room for requests that are given as objects, used again for each call. */
  #list: NativeList | undefined;
  /** How many requests were filled in last. */
  protected filled = 0;

  protected constructor(
    verb: PostVerb,
    layout: Layout,
    maxSge: number,
    write: (list: NativeList, index: number, request: R) => void,
  ) {
    this.#verb = verb;
    this.#write = write;
    this.#makeList = (capacity) =>
      new NativeList(layout, { capacity, maxSge: Math.max(1, maxSge) });
  }

  /**
   * Reads requests that are given as objects; `null` if there are none.
   *
   * Getters of the requests run here and may call this again. The inner call makes a list of its own, because the list in
   * use is absent meanwhile.
   */
  protected fill(
    requests: R | readonly R[],
    start: number | undefined,
    count: number | undefined,
  ): NativeList | null {
    if (count !== undefined || start !== undefined) {
      object(requests, "requests");
      throw new TypeError("Cannot post requests: start and count are for prepared lists only");
    }
    const several = Array.isArray(requests) ? listOf<R>(requests, "requests") : undefined;
    const filled = several?.length ?? 1;
    if (filled === 0) return null;
    let list = this.#list;
    this.#list = undefined;
    if (list === undefined || list.capacity < filled) list = this.#makeList(filled);
    try {
      if (several === undefined) this.#write(list, 0, requests as R);
      else for (let i = 0; i < filled; i++) this.#write(list, i, several[i]!);
    } finally {
      this.#list = list;
      this.filled = filled;
    }
    return list;
  }

  /**
   * The error of a run that was refused. Its `posted` is undefined if the verb names no request: rxe does not if the kernel
   * refuses after all requests are in the queue.
   */
  error(result: number, run: NativeList): VerbsError {
    const posted = run.placeOf(BAD_WR[0]!);
    BAD_WR[0] = 0n;
    const { verb, action, hint } = this.#verb;
    // libmlx4 returns -1 for a full shared receive queue, which is no errno value.
    return failure(verb, action, result === -1 ? 0 : Math.abs(result), {
      hint,
      ...posted !== undefined && { posted },
      ...posted && { detail: () => `request ${posted} of the list; those before it were posted` },
    });
  }
}

/** The rules of one queue for its receives: how many elements they have, and whether a GRH precedes each message. */
export interface RecvRules {
  readonly maxSge: number;
  readonly needsGrh: boolean;
}

/**
 * What can be posted to a receive queue: one receive, several, or a prepared list.
 *
 * @category Work requests
 */
export type Receives = RecvRequest | readonly RecvRequest[] | RecvRequestList;

/**
 * Prepares the receives of one queue. Queue pairs, work queues and shared receive queues post what it prepares with
 * different verbs.
 */
export class RecvPoster extends Poster<RecvRequest> {
  readonly #rules: RecvRules;

  constructor(verb: PostVerb, rules: RecvRules) {
    super(verb, structs.ibv_recv_wr, rules.maxSge, writeRecv);
    this.#rules = rules;
  }

  /**
   * Reads and checks receives. Code of the caller runs only here. Returns the list with the run to post; `null` if
   * there are none.
   */
  prepare(
    requests: Receives,
    start: number | undefined,
    count: number | undefined,
  ): NativeList | null {
    try {
      if (requests instanceof RecvRequestList) return this.#check(nativeOf(requests), start, count);
      const list = this.fill(requests, start, count);
      return list === null ? null : this.#check(list, 0, this.filled);
    } catch (error) {
      throw toCaller(error, this.prepare);
    }
  }

  /** Checks a run, unless it is the last one and nothing has changed. */
  #check(list: NativeList, start = 0, count = list.capacity - start): NativeList {
    const rules = this.#rules;
    if (list.isChecked(start, count, rules)) return list;
    list.beginRun(start, count);
    for (let i = start; i < start + count; i++) checkRecv(list, i, rules);
    list.endRun(rules);
    return list;
  }
}

function checkRecv(list: NativeList, index: number, { needsGrh }: RecvRules): void {
  list.assertMemory(index);
  const length = list.lengths[index]!;
  if (!needsGrh || length >= Grh.SIZE) return;
  throw new RangeError(
    `Cannot post receive: its buffer has ${length} bytes, and on UD the GRH alone takes ${Grh.SIZE}`,
  );
}

export interface SendRules {
  /** The transport in messages, such as "UD". */
  readonly transport: string;
  readonly opcodes: number;
  /** The opcodes of requests that a builder makes. */
  readonly built: number;
  /** Attributes that sends need to reach a receive of the peer: bits of `FIELDS`. */
  readonly needs: number;
  /** The protection domain that address handles and memory windows must belong to. */
  readonly pd: ProtectionDomain;
  /** The largest messages in bytes, also of inline data. */
  readonly maxMessage: number;
  /** The largest RDMA read or write, if it differs from that of messages. */
  readonly maxRdma: (() => number) | undefined;
  readonly maxInline: number;
  /** Whether every send has a completion, signaled or not. */
  readonly allSignaled: boolean;
}

/** Prepares the sends of one queue pair, as `RecvPoster` does its receives. */
export class SendPoster extends Poster<SendRequest> {
  readonly #qp: Resource;
  /** The rules of the queue pair. A change makes every list be checked again. */
  rules: SendRules;
  /** Datagrams: counts the sends, so that their address handles are kept. */
  readonly tracker: SendTracker | undefined;

  constructor(
    qp: Resource,
    verb: PostVerb,
    rules: SendRules,
    maxSge: number,
    tracker: SendTracker | undefined,
  ) {
    super(verb, structs.ibv_send_wr, maxSge, writeSend);
    this.#qp = qp;
    this.rules = rules;
    this.tracker = tracker;
  }

  /** As `RecvPoster.prepare`. */
  prepare(
    requests: SendRequest | readonly SendRequest[] | SendRequestList,
    start: number | undefined,
    count: number | undefined,
  ): NativeList | null {
    try {
      if (requests instanceof SendRequestList) return this.check(nativeOf(requests), start, count);
      const list = this.fill(requests, start, count);
      return list === null ? null : this.check(list, 0, this.filled);
    } catch (error) {
      throw toCaller(error, this.prepare);
    }
  }

  /** Checks a run, unless it is the last one and nothing has changed. */
  check(
    list: NativeList,
    start = 0,
    count = list.capacity - start,
    opcodes = this.rules.opcodes,
  ): NativeList {
    const { rules } = this;
    if (list.isChecked(start, count, rules)) return list;
    list.beginRun(start, count);
    for (let i = start; i < start + count; i++) checkSend(list, i, rules, opcodes);
    if (this.tracker !== undefined) list.sumUp(count, rules.pd, rules.allSignaled);
    list.endRun(rules);
    return list;
  }

  posted(run: NativeList): void {
    if (this.tracker !== undefined) run.posted(this.tracker);
    else if (run.binds !== undefined) this.noteBinds(run, run.count);
  }

  /** Notes that only the first requests of a run were posted. The next post checks the run again. */
  postedOnly(run: NativeList, count: number): void {
    const { pd, allSignaled } = this.rules;
    run.checkedBy = undefined;
    if (this.tracker === undefined || count === 0) return;
    run.sumUp(count, pd, allSignaled);
    run.posted(this.tracker);
  }

  /** Notes that a run was refused. Requests that may be in the queue count as posted. */
  override error(result: number, run: NativeList): VerbsError {
    const error = super.error(result, run);
    const posted = error.posted ?? run.count;
    this.noteBinds(run, posted);
    this.postedOnly(run, posted);
    return error;
  }

  /** Notes that the memory windows of the first requests of a run were bound. */
  noteBinds({ binds, start }: NativeList, count: number): void {
    for (const bind of binds?.slice(start, start + count) ?? []) {
      if (bind !== undefined) windowCore(bind.mw).bound(bind.mr, bind.rkey, this.#qp);
    }
  }
}

function checkSend(list: NativeList, index: number, rules: SendRules, opcodes: number): void {
  const opcode = list.opcodeOf(index);
  if (!has(opcodes, opcode)) {
    throw new TypeError(
      `Cannot post send: a queue pair of type ${rules.transport} has no opcode ${
        nameOf(WrOpcode, opcode)
      }`,
    );
  }
  // A datagram queue pair has no peer, so that RDMA needs the receiver too.
  const needsReceiver = has(CONSUMING, opcode) || (rules.needs & FIELDS.ah.bit) !== 0;
  const needs = NEEDS[opcode]! | (needsReceiver ? rules.needs : 0);
  const missing = needs & ~list.given[index]!;
  if (missing !== 0) throw missingAttribute(rules, opcode, missing);
  const length = list.lengths[index]!;
  if (length > rules.maxMessage) checkLong(length, opcode, rules);
  if (has(EIGHT_BYTES, opcode) && length !== 8) {
    throw new RangeError(
      `Cannot post send: its memory has ${length} bytes, and ${
        nameOf(WrOpcode, opcode)
      } works on 8`,
    );
  }
  if ((rules.needs & FIELDS.ah.bit) !== 0) checkAh(list.ahs[index]!, rules.pd);
  list.assertMemory(index);
  if ((list.flags(index) & SendFlags.INLINE) !== 0) checkInline(list, index, opcode, rules);
  const bind = list.binds?.[index];
  if (bind === undefined) return;
  assertOpen(bind.mw);
  assertOpen(bind.mr);
  assertBindable(rules.pd, bind.mw, bind.mr);
}

function checkLong(length: number, opcode: number, { maxMessage, maxRdma }: SendRules): void {
  const isRdma = maxRdma !== undefined && has(RDMA, opcode);
  const max = isRdma ? maxRdma() : maxMessage;
  if (length <= max) return;
  throw new RangeError(
    `Cannot post send: its message has ${length} bytes, and ${
      isRdma ? "the device" : "the port's MTU"
    } allows ${max}`,
  );
}

function checkInline(
  list: NativeList,
  index: number,
  opcode: number,
  { maxInline }: SendRules,
): void {
  if (!has(INLINE, opcode)) {
    throw new TypeError(
      `Cannot post send: ${nameOf(WrOpcode, opcode)} has no data that can be inline`,
    );
  }
  const length = list.lengths[index]!;
  if (length > maxInline) {
    throw new RangeError(
      `Cannot post send: its inline data has ${length} bytes, and the queue pair allows ${maxInline} (cap.maxInlineData)`,
    );
  }
  list.assertInlineMemory(index);
}

function checkAh(ah: AhCore, pd: ProtectionDomain): void {
  if (!ah.isOpen) throw new TypeError("Cannot post send: the address handle is disposed");
  if (ah.base !== pd) {
    throw new TypeError(
      "Cannot post send: the address handle belongs to another protection domain than the queue pair",
    );
  }
}

function missingAttribute({ transport }: SendRules, opcode: number, missing: number): TypeError {
  const { ah, remoteSrqn } = FIELDS;
  if (missing & ah.bit) {
    return new TypeError(
      `Cannot post send: on a ${transport} queue pair it needs an address handle (ah)`,
    );
  }
  const who = missing & (DATAGRAM | remoteSrqn.bit)
    ? `on a ${transport} queue pair it`
    : nameOf(WrOpcode, opcode);
  return new TypeError(`Cannot post send: ${who} needs ${attributeNamesOf(missing).join(", ")}`);
}
