import { structs } from "../../ffi/layout.ts";
import type { AddressHandle } from "../address_handle/address_handle.ts";
import * as handles from "../address_handle/address_handle.ts";
import type { SendTracker } from "../completion/send_tracker.ts";
import * as checks from "../core/checks.ts";
import { nameOf } from "../core/enums.ts";
import type { Resource } from "../core/resource.ts";
import { type MemoryWindow, noteBind } from "../memory/memory_window.ts";
import type { CheckedRun } from "./checked_run.ts";
import type { SendRules } from "./check_send.ts";
import * as sends from "./check_send.ts";
import { type Bind, type Binding, checkBind, type MwBindInfo, readBinding } from "./mw_bind.ts";
import * as opcodes from "./opcodes.ts";
import { RequestBuffer } from "./request_buffer.ts";
import { RequestList } from "./request_list.ts";
import * as layout from "./send_layout.ts";
import { SendRun } from "./send_run.ts";
import * as values from "./send_values.ts";
import { NO_MEMORY } from "./sge_list.ts";
import { type RequestsInit, SendFlags, type SendRequest, WrOpcode } from "./work_request.ts";

// V8 folds the constants of a module. An import it loads and checks at each use: setRemote() took 9.3 ns with imports and
// takes 4.4 ns.
const { isOpenAh, writeAh } = handles;
const { uint24, uint32, uint64 } = checks;
const { checkSend } = sends;
const { Given, HAS, RULES } = opcodes;
const { resetRequest, WORD, WORDS, writeAtomic, writeBind, writeRdma, writeValues } = layout;
const { checkAlignment, checkFit, openAh, readSend, windowToBind } = values;
const { opcode: OPCODE, sendFlags: FLAGS, ah: AH, remoteQpn: QPN, remoteQkey: QKEY } = WORD;
const GIVEN_AH = Given.ah;
const REMOTE = Given.remoteQpn | Given.remoteQkey;
const RDMA = Given.remoteAddr | Given.rkey;

/** Checks a run of sends, unless it is the last one and nothing has changed. */
export let prepareSends: (
  list: SendRequests,
  start: number,
  count: number,
  rules: SendRules,
) => SendRun;

/** Notes that only the first `posted` requests of the run that was prepared last were posted. */
export let noteSome: (
  list: SendRequests,
  start: number,
  posted: number,
  rules: SendRules,
  tracker: SendTracker,
) => void;

/** Begins a request of a builder: everything but these attributes is reset. */
export let beginRequest: (
  list: SendRequests,
  index: number,
  opcode: WrOpcode,
  wrId: number | bigint,
  sendFlags: number,
) => void;

/** The address handle of a request. */
export let ahOf: (list: SendRequests, index: number) => AddressHandle | undefined;

/** The memory window that a request binds. */
export let windowOf: (list: SendRequests, index: number) => MemoryWindow | undefined;

/** Notes the memory windows that requests posted to a queue pair have bound. */
export let noteBinds: (list: SendRequests, start: number, posted: number, qp: Resource) => void;

/**
 * Send requests in native layout (`struct ibv_send_wr`). They are made once, changed in single fields, and posted again
 * and again with {@linkcode QueuePair.prototype.postSend | QueuePair.postSend}. Posting allocates nothing.
 *
 * The opcode of a request decides which attributes it has. A setter for an attribute that the opcode does not have
 * throws a TypeError. A request that lacks an attribute is refused when it is posted.
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
 *   qp.postSend(request);
 * }
 * ```
 *
 * @category Work requests
 */
export class SendRequests extends RequestList {
  readonly #buffer: RequestBuffer;
  readonly #words: Uint32Array<ArrayBuffer>;
  readonly #ahs: (AddressHandle | undefined)[];
  /** The attributes that each request has: bits of {@linkcode Given}. */
  readonly #given: Uint16Array<ArrayBuffer>;
  /** The run that was checked last, and its sums. They are two objects: a class and its subclass cost setSge() 4 ns. */
  readonly #checked: CheckedRun;
  readonly #run: SendRun;
  /** The memory windows that requests bind. It is undefined if no request does. */
  #binds: (Bind | undefined)[] | undefined;

  static {
    beginRequest = (list, index, opcode, wrId, sendFlags) =>
      list.#begin(index, opcode, wrId, sendFlags);
    ahOf = (list, index) => list.#ahs[index];
    windowOf = (list, index) => list.#binds?.[index]?.mw;
    noteBinds = (list, start, posted, qp) => {
      for (const bind of list.#binds?.slice(start, start + posted) ?? []) {
        if (bind !== undefined) noteBind(bind.mw, bind.mr, bind.rkey, qp);
      }
    };
    prepareSends = (list, start, count, rules) =>
      list.#checked.isChecked(start, count, rules) ? list.#run : list.#prepare(start, count, rules);
    noteSome = (list, start, posted, rules, tracker) => {
      list.#checked.noteChange();
      list.#run.sumUp(list.#words, start, posted, rules);
      list.#run.posted(tracker);
    };
  }

  /**
   * Makes room for requests that send nothing.
   *
   * @throws {RangeError} If a size is not positive.
   */
  constructor(init: RequestsInit) {
    const buffer = new RequestBuffer(structs.ibv_send_wr, init);
    super(buffer);
    this.#buffer = buffer;
    this.#words = buffer.words;
    this.#ahs = new Array(buffer.capacity).fill(undefined);
    this.#given = new Uint16Array(buffer.capacity);
    this.#checked = buffer.run;
    this.#run = new SendRun(this.#ahs, buffer.run.first);
    for (let i = 0; i < buffer.capacity; i++) {
      this.#words[(buffer.at(i) >> 2) + OPCODE] = WrOpcode.SEND;
      this.#words[(buffer.at(i) >> 2) + FLAGS] = SendFlags.SIGNALED;
    }
  }

  /**
   * Sets all attributes of a request.
   *
   * @throws {RangeError} If there is no such request, a number is out of range, the opcode is not offered, there is no
   * room for the memory, or the remote address of an atomic is not a multiple of 8.
   * @throws {TypeError} If an attribute has the wrong type, is unknown, or does not belong to the opcode; if a memory
   * region or the address handle is disposed.
   */
  set(index: number, request: SendRequest): void {
    const buffer = this.#buffer;
    const at = buffer.at(index);
    const send = readSend(request, buffer.maxSge);
    buffer.writeSge(index, send.memory);
    buffer.writeWrId(index, send.wrId);
    this.#ahs[index] = send.ah;
    this.#given[index] = send.given;
    writeValues(this.#words, buffer.view, at >> 2, send);
    if (this.#binds !== undefined) this.#binds[index] = undefined;
    if (send.mw !== undefined && send.binding !== undefined) {
      this.#bind(index, send.mw, send.rkey, send.binding);
    }
  }

  #begin(index: number, opcode: WrOpcode, wrId: number | bigint, sendFlags: number): void {
    const buffer = this.#buffer;
    const at = buffer.at(index) >> 2;
    buffer.writeWrId(index, wrId);
    buffer.writeSge(index, NO_MEMORY);
    resetRequest(this.#words, at, opcode, sendFlags);
    this.#ahs[index] = undefined;
    this.#given[index] = 0;
    if (this.#binds !== undefined) this.#binds[index] = undefined;
  }

  #bind(index: number, mw: MemoryWindow, rkey: number, binding: Binding): void {
    const at = this.#buffer.at(index) >> 2;
    writeBind(this.#buffer.view, at, mw, rkey, binding);
    this.#binds ??= new Array(this.capacity).fill(undefined);
    this.#binds[index] = { mw, mr: binding.mr, rkey };
  }

  /** The first word of a request whose opcode has these attributes. */
  #place(index: number, attributes: number): number {
    if (!(typeof index === "number" && index >>> 0 === index && index < this.#given.length)) {
      this.#buffer.at(index);
    }
    const at = index * WORDS;
    const opcode = this.#words[at + OPCODE]!;
    if ((HAS[opcode]! & attributes) !== attributes) checkFit(opcode, attributes);
    return at;
  }

  /**
   * Sets the flags of a request.
   *
   * @param index The index of the request.
   * @param sendFlags {@linkcode SendFlags}, combined. Without SIGNALED the request has no completion if it succeeds.
   * @throws {RangeError} If there is no such request, or the number is out of range.
   */
  setSendFlags(index: number, sendFlags: number): void {
    const at = this.#buffer.at(index) >> 2;
    this.#words[at + FLAGS] = uint32(sendFlags, "sendFlags");
    this.#checked.noteChange();
  }

  /**
   * SEND_WITH_IMM, RDMA_WRITE_WITH_IMM: sets the immediate data.
   *
   * @param index The index of the request.
   * @param immData 32 bits, in host order.
   * @throws {RangeError} If there is no such request, or the number is out of range.
   * @throws {TypeError} If the opcode of the request has no immediate data.
   */
  setImmData(index: number, immData: number): void {
    const at = this.#place(index, Given.immData);
    this.#buffer.view.setUint32((at + WORD.immData) * 4, uint32(immData, "immData"));
  }

  /**
   * SEND_WITH_INV, LOCAL_INV: sets the rkey to invalidate.
   *
   * @throws {RangeError} If there is no such request, or the number is out of range.
   * @throws {TypeError} If the opcode of the request does not invalidate.
   */
  setInvalidateRkey(index: number, invalidateRkey: number): void {
    const at = this.#place(index, Given.invalidateRkey);
    this.#words[at + WORD.invalidateRkey] = uint32(invalidateRkey, "invalidateRkey");
    this.#given[index]! |= Given.invalidateRkey;
  }

  /**
   * UD: sets the address handle of the peer.
   *
   * @throws {RangeError} If there is no such request.
   * @throws {TypeError} If it is not an open address handle, or the opcode of the request is not one of datagrams.
   */
  setAh(index: number, ah: AddressHandle): void {
    const at = this.#place(index, GIVEN_AH);
    if (!isOpenAh(ah)) openAh(ah);
    // the handle is open: it needs another check only if its protection domain is not the one that was checked
    if (ah.pd !== this.#run.pd) this.#checked.noteChange();
    this.#run.noteAh(index, ah);
    writeAh(ah, this.#words, at + AH);
    this.#ahs[index] = ah;
    this.#given[index]! |= GIVEN_AH;
  }

  /**
   * UD: sets the queue pair of the peer.
   *
   * @param index The index of the request.
   * @param remoteQpn Its number, 24 bits.
   * @param remoteQkey Its qkey. If the highest bit is set, the qkey of the sending queue pair is sent instead.
   * @throws {RangeError} If there is no such request, or a number is out of range.
   * @throws {TypeError} If the opcode of the request is not one of datagrams.
   */
  setRemote(index: number, remoteQpn: number, remoteQkey: number): void {
    const at = this.#place(index, REMOTE);
    const qpn = uint24(remoteQpn, "remoteQpn");
    const qkey = uint32(remoteQkey, "remoteQkey");
    this.#words[at + QPN] = qpn;
    this.#words[at + QKEY] = qkey;
    this.#given[index]! |= REMOTE;
  }

  /**
   * RDMA_WRITE, RDMA_WRITE_WITH_IMM, RDMA_READ, ATOMIC_WRITE: sets the memory of the peer.
   *
   * @param index The index of the request.
   * @param remoteAddr Its address. For ATOMIC_WRITE it is a multiple of 8.
   * @param rkey The key of the peer's memory region.
   * @throws {RangeError} If there is no such request, or a number is out of range.
   * @throws {TypeError} If the opcode of the request is another one.
   */
  setRdma(index: number, remoteAddr: number | bigint, rkey: number): void {
    const at = this.#place(index, RDMA);
    const opcode = this.#words[at + OPCODE]!;
    if (RULES[opcode]!.layout !== "rdma") throw useSetAtomic(opcode);
    const addr = uint64(remoteAddr, "remoteAddr");
    uint32(rkey, "rkey");
    checkAlignment(opcode, addr);
    writeRdma(this.#words, this.#buffer.view, at, addr, rkey);
    this.#given[index]! |= RDMA;
  }

  /**
   * ATOMIC_CMP_AND_SWP, ATOMIC_FETCH_AND_ADD: sets the memory of the peer and the operands.
   *
   * @param index The index of the request.
   * @param remoteAddr Its address, a multiple of 8.
   * @param rkey The key of the peer's memory region.
   * @param compareAdd The value to compare with, or to add.
   * @param swap ATOMIC_CMP_AND_SWP: the new value.
   * @throws {RangeError} If there is no such request, or a number is out of range.
   * @throws {TypeError} If the opcode of the request is another one, or `swap` is missing or superfluous.
   */
  setAtomic(
    index: number,
    remoteAddr: number | bigint,
    rkey: number,
    compareAdd: number | bigint,
    swap?: number | bigint,
  ): void {
    const attributes = RDMA | Given.compareAdd | (swap === undefined ? 0 : Given.swap);
    const at = this.#place(index, attributes);
    const opcode = this.#words[at + OPCODE]!;
    if (swap === undefined && HAS[opcode]! & Given.swap) {
      throw new TypeError(`Cannot set request: ${nameOf(WrOpcode, opcode)} needs swap`);
    }
    const atomic = {
      remoteAddr: uint64(remoteAddr, "remoteAddr"),
      rkey: uint32(rkey, "rkey"),
      compareAdd: uint64(compareAdd, "compareAdd"),
      swap: swap === undefined ? 0n : uint64(swap, "swap"),
    };
    checkAlignment(opcode, atomic.remoteAddr);
    writeAtomic(this.#words, this.#buffer.view, at, atomic);
    this.#given[index]! |= attributes;
  }

  /**
   * BIND_MW: sets the memory window and what it is bound to.
   *
   * @param index The index of the request.
   * @param mw The memory window, of type 2.
   * @param rkey The new rkey of the window: {@linkcode incRkey} gives the next one.
   * @param bindInfo What the window is bound to.
   * @throws {RangeError} If there is no such request, a number is out of range, or the memory is not within the region.
   * @throws {TypeError} If the opcode of the request is another one, the window is not of type 2, or something is
   * disposed.
   */
  setBindMw(index: number, mw: MemoryWindow, rkey: number, bindInfo: MwBindInfo): void {
    const attributes = Given.mw | Given.rkey | Given.bindInfo;
    this.#place(index, attributes);
    const binding = readBinding(bindInfo);
    uint32(rkey, "rkey");
    windowToBind(mw);
    this.#place(index, attributes);
    this.#bind(index, mw, rkey, binding);
    this.#given[index]! |= attributes;
    this.#checked.noteChange();
  }

  /**
   * XRC_SEND: sets the shared receive queue of the peer.
   *
   * @param index The index of the request.
   * @param remoteSrqn Its number, 24 bits.
   * @throws {RangeError} If there is no such request, or the number is out of range.
   * @throws {TypeError} If the opcode of the request is LOCAL_INV.
   */
  setRemoteSrqn(index: number, remoteSrqn: number): void {
    const at = this.#place(index, Given.remoteSrqn);
    this.#words[at + WORD.remoteSrqn] = uint24(remoteSrqn, "remoteSrqn");
    this.#given[index]! |= Given.remoteSrqn;
  }

  #prepare(start: number, count: number, rules: SendRules): SendRun {
    const buffer = this.#buffer;
    const run = this.#run;
    buffer.beginRun(start, count);
    for (let i = start; i < start + count; i++) {
      checkSend(buffer, i, this.#given[i]!, this.#ahs[i], rules);
      const bind = this.#binds?.[i];
      if (bind !== undefined) checkBind(bind);
    }
    run.first = buffer.run.first;
    run.binds = this.#binds !== undefined;
    run.sumUp(this.#words, start, count, rules);
    buffer.run.noteChecked(start, count, rules);
    return run;
  }
}

function useSetAtomic(opcode: number): TypeError {
  return new TypeError(
    `Cannot set request: ${nameOf(WrOpcode, opcode)} needs operands, which setAtomic() sets`,
  );
}
