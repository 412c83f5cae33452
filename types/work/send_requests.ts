import { structs } from "../../ffi/layout.ts";
import { type AddressHandle, ahAddress, noteSend } from "../address_handle/address_handle.ts";
import type { ProtectionDomain } from "../memory/protection_domain.ts";
import { RequestList } from "./request_list.ts";
import type { SendTracker } from "../completion/send_tracker.ts";
import { uint24, uint32, uint64 } from "../core/checks.ts";
import { type RequestsInit, SendFlags, type SendRequest, WrOpcode } from "./work_request.ts";

const { size: SIZE, fields } = structs.ibv_send_wr;
const FLAGS = fields.send_flags.offset;
const { BIND_MW, TSO, DRIVER1, SEND, SEND_WITH_INV, LOCAL_INV } = WrOpcode;
const { INLINE, SIGNALED } = SendFlags;
/** They have the provider follow pointers that are not ours to give. */
const REFUSED: readonly number[] = [BIND_MW, TSO, DRIVER1];
const KNOWN: readonly number[] = Object.values(WrOpcode);

/** What the sends of a queue pair have to be like. */
export interface SendRules {
  /** UD: the protection domain of address handles. */
  readonly pd: ProtectionDomain | undefined;
  /** Most bytes of a message. */
  readonly maxMessage: number;
  /** Whether every send has a completion, signaled or not. */
  readonly allSignaled: boolean;
}

/** Checks a run of requests, and gives the pointer to post it by. */
export let prepareSends: (
  list: SendRequests,
  start: number,
  count: number,
  rules: SendRules,
) => Deno.PointerObject;

/** Notes that the run that was prepared last was posted on a UD queue pair. */
export let noteSends: (list: SendRequests, tracker: SendTracker) => void;

/** Notes that of the run that was prepared last only that many requests were posted. */
export let noteSome: (
  list: SendRequests,
  start: number,
  posted: number,
  rules: SendRules,
  tracker: SendTracker,
) => void;

/**
 * Send requests in native layout (`struct ibv_send_wr`), made once and posted again and again with
 * {@linkcode QueuePair.postSends}; single fields may be changed in between. Nothing is allocated by posting.
 *
 * @example A reply sent with one prepared request
 * ```ts
 * import type { AddressHandle, MemorySlice, QueuePair } from "@rdma/ibverbs";
 * import { SendRequests } from "@rdma/ibverbs";
 *
 * const request = new SendRequests({ capacity: 1 });
 *
 * function reply(qp: QueuePair, data: MemorySlice, ah: AddressHandle, qpn: number): void {
 *   request.set(0, { sge: data, ah, remoteQpn: qpn, remoteQkey: 0x1111_1111 });
 *   qp.postSends(request);
 * }
 * ```
 */
export class SendRequests extends RequestList {
  readonly #ahs: (AddressHandle | undefined)[];
  /** Of the run prepared last: how many of its sends are signaled. */
  #signaled = 0;
  /** And its address handles, each with the number of its last send, counted as in {@linkcode SendTracker}. */
  readonly #usedAhs: (AddressHandle | undefined)[];
  readonly #usedNumbers: Float64Array<ArrayBuffer>;
  #used = 0;

  static {
    prepareSends = (list, start, count, rules) =>
      list.checked(start, count, rules) ?? list.#prepare(start, count, rules);
    noteSends = (list, tracker) => {
      const before = tracker.posted(list.#signaled);
      for (let i = 0; i < list.#used; i++) {
        noteSend(list.#usedAhs[i]!, tracker, before + list.#usedNumbers[i]!);
      }
    };
    noteSome = (list, start, posted, rules, tracker) => {
      list.noteChange();
      list.#sumUp(start, posted, rules);
      noteSends(list, tracker);
    };
  }

  /** Makes room for requests that send nothing. */
  constructor(init: RequestsInit) {
    super(structs.ibv_send_wr, init);
    this.#ahs = new Array(init.capacity).fill(undefined);
    this.#usedAhs = new Array(init.capacity).fill(undefined);
    this.#usedNumbers = new Float64Array(init.capacity);
    for (let i = 0; i < init.capacity; i++) this.set(i, {});
  }

  /**
   * Sets a request.
   *
   * @throws {RangeError} If a number is out of range, the opcode is not offered, or there is no room for the memory.
   * @throws {TypeError} If a memory region or the address handle is disposed.
   */
  set(index: number, request: SendRequest): void {
    const base = this.base(index);
    const { view } = this;
    const { opcode = SEND, sendFlags = SIGNALED } = request;
    if (!KNOWN.includes(opcode) || REFUSED.includes(opcode)) {
      throw new RangeError(`Cannot send: opcode ${opcode} is not offered`);
    }
    this.setSge(index, request.sge ?? []);
    this.setWrId(index, request.wrId ?? 0n);
    view.setUint32(base + fields.opcode.offset, opcode, true);
    view.setUint32(base + FLAGS, uint32(sendFlags, "sendFlags"), true);
    if (opcode === SEND_WITH_INV || opcode === LOCAL_INV) {
      const rkey = uint32(request.invalidateRkey ?? 0, "invalidateRkey");
      view.setUint32(base + fields.invalidate_rkey.offset, rkey, true);
    } else {
      this.setImmData(index, request.immData ?? 0);
    }
    this.#setTarget(index, request);
  }

  #setTarget(index: number, request: SendRequest): void {
    const base = this.base(index);
    new Uint8Array(this.view.buffer, base + fields.wr.offset, fields.wr.size).fill(0);
    this.#ahs[index] = undefined;
    if (request.ah !== undefined) {
      this.setAh(index, request.ah);
      this.setRemote(index, request.remoteQpn ?? 0, request.remoteQkey ?? 0);
    } else if (request.compareAdd !== undefined || request.swap !== undefined) {
      this.#setAtomic(base, request);
    } else {
      this.setRdma(index, request.remoteAddr ?? 0n, request.rkey ?? 0);
    }
  }

  #setAtomic(base: number, request: SendRequest): void {
    const { view } = this;
    const at = (name: "remote_addr" | "compare_add" | "swap" | "rkey"): number =>
      base + fields[`wr.atomic.${name}`].offset;
    view.setBigUint64(at("remote_addr"), uint64(request.remoteAddr ?? 0n, "remoteAddr"), true);
    view.setBigUint64(at("compare_add"), uint64(request.compareAdd ?? 0n, "compareAdd"), true);
    view.setBigUint64(at("swap"), uint64(request.swap ?? 0n, "swap"), true);
    view.setUint32(at("rkey"), uint32(request.rkey ?? 0, "rkey"), true);
  }

  /** Sets how a request is carried out: {@linkcode SendFlags}, combined. */
  setSendFlags(index: number, sendFlags: number): void {
    this.view.setUint32(this.base(index) + FLAGS, uint32(sendFlags, "sendFlags"), true);
  }

  /** Sets a request's immediate data, in host order. */
  setImmData(index: number, immData: number): void {
    const at = this.base(index) + fields.imm_data.offset;
    this.view.setUint32(at, uint32(immData, "immData"));
  }

  /**
   * UD: sets whom a request goes to.
   *
   * @throws {TypeError} If the handle is disposed.
   */
  setAh(index: number, ah: AddressHandle): void {
    if (ah.disposed) throw disposedAh();
    this.view.setBigUint64(this.base(index) + fields["wr.ud.ah"].offset, ahAddress(ah), true);
    this.#ahs[index] = ah;
  }

  /** UD: sets the peer's queue pair and qkey. */
  setRemote(index: number, remoteQpn: number, remoteQkey: number): void {
    const base = this.base(index);
    const { view } = this;
    view.setUint32(base + fields["wr.ud.remote_qpn"].offset, uint24(remoteQpn, "remoteQpn"), true);
    view.setUint32(
      base + fields["wr.ud.remote_qkey"].offset,
      uint32(remoteQkey, "remoteQkey"),
      true,
    );
  }

  /** RDMA: sets the peer's memory. */
  setRdma(index: number, remoteAddr: bigint, rkey: number): void {
    const base = this.base(index);
    const address = uint64(remoteAddr, "remoteAddr");
    this.view.setBigUint64(base + fields["wr.rdma.remote_addr"].offset, address, true);
    this.view.setUint32(base + fields["wr.rdma.rkey"].offset, uint32(rkey, "rkey"), true);
    this.#ahs[index] = undefined;
  }

  #prepare(start: number, count: number, rules: SendRules): Deno.PointerObject {
    const first = this.first(start, count);
    let holdsOn = true;
    for (let i = start; i < start + count; i++) holdsOn = this.#check(i, rules) && holdsOn;
    this.#sumUp(start, count, rules);
    if (holdsOn) this.noteChecked(start, count, rules, first);
    return first;
  }

  /** Checks a request, and tells whether what was found holds on. */
  #check(index: number, { pd, maxMessage }: SendRules): boolean {
    const length = this.lengths[index]!;
    if (length > maxMessage) {
      throw new RangeError(
        `Cannot post send: its message has ${length} bytes, and the port's MTU allows ${maxMessage}`,
      );
    }
    if (pd !== undefined) checkAh(this.#ahs[index], pd);
    this.assertMemory(index);
    const inline = this.view.getUint32(index * SIZE + FLAGS, true) & INLINE;
    return inline === 0 || this.assertInlineMemory(index);
  }

  /** Counts once what is to be noted each time that the run is posted. */
  #sumUp(start: number, count: number, { pd, allSignaled }: SendRules): void {
    this.#signaled = 0;
    this.#used = 0;
    if (pd === undefined) return;
    for (let i = start; i < start + count; i++) {
      const flags = this.view.getUint32(i * SIZE + FLAGS, true);
      const signaled = allSignaled || (flags & SIGNALED) !== 0;
      const number = this.#signaled + 1;
      if (signaled) this.#signaled = number;
      const ah = this.#ahs[i];
      if (i === start || ah !== this.#ahs[i - 1]) this.#usedAhs[this.#used++] = ah;
      this.#usedNumbers[this.#used - 1] = number;
    }
  }
}

function checkAh(ah: AddressHandle | undefined, pd: ProtectionDomain): void {
  if (ah === undefined) {
    throw new TypeError("Cannot post send: on a UD queue pair it needs an address handle (ah)");
  }
  if (ah.disposed) throw disposedAh();
  if (ah.pd !== pd) {
    throw new TypeError(
      "Cannot post send: the address handle belongs to another protection domain than the queue pair",
    );
  }
}

function disposedAh(): TypeError {
  return new TypeError("Cannot post send: the address handle is disposed");
}
