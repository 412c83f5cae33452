import { structs } from "../../ffi/layout.ts";
import { bufferAddress, bufferPointer, handleAddress } from "../../ffi/pointers.ts";
import { type Accessors, accessorsOf, allocStruct } from "../../ffi/struct.ts";
import { integer, positiveInt, snapshot } from "../../internal/checks.ts";
import type { Complete } from "../../internal/optional.ts";
import type { AhCore } from "../address_handle/address_handle.ts";
import type { SendTracker } from "../completion/send_tracker.ts";
import { disposals } from "../core/resource.ts";
import type { MemoryRegion } from "../memory/memory_region.ts";
import type { MemoryWindow } from "../memory/memory_window.ts";
import type { ProtectionDomain } from "../memory/protection_domain.ts";
import type { Region } from "../memory/region.ts";
import { bindingCodec, type Element, FIELDS, type SendField } from "./attributes.ts";
import { type MwBindInfo, type RequestListInit, SendFlags } from "./work_request.ts";

/** The structs of requests. Their first fields are the same. */
export type Layout = typeof structs.ibv_recv_wr | typeof structs.ibv_send_wr;

const { wr_id, next, num_sge } = structs.ibv_recv_wr.fields;
const WR_ID = wr_id.offset >> 2;
const NEXT = next.offset >> 2;
const NUM_SGE = num_sge.offset >> 2;
const { opcode, send_flags, imm_data } = structs.ibv_send_wr.fields;
/** The word of a send that has its opcode. */
const OPCODE = opcode.offset >> 2;
const FLAGS = send_flags.offset >> 2;
/** Behind the flags are the attributes, last the number of the shared receive queue. */
const ATTRIBUTES_END = FIELDS.remoteSrqn.word + 1;
// Numbers, not rows: V8 puts a setter into its caller only if both are short. See docs/performance.md.
const { word: AH, bit: AH_BIT } = FIELDS.ah;
const { word: QPN } = FIELDS.remoteQpn;
const { word: QKEY } = FIELDS.remoteQkey;
const REMOTE_BITS = FIELDS.remoteQpn.bit | FIELDS.remoteQkey.bit;
const SGE_SIZE = structs.ibv_sge.size;
const Sge = accessorsOf(structs.ibv_sge.fields);
const REQUEST = { ...structs.ibv_recv_wr.fields, imm_data } as const;
const Request = accessorsOf(REQUEST);

interface Bind {
  readonly mw: MemoryWindow;
  readonly mr: MemoryRegion;
  readonly rkey: number;
}

/** Stands for more than one request. */
const SEVERAL = -1;

/**
 * A list of work requests in native layout, with what is known of each, and what was found when the last run of them was
 * checked. The requests are linked in order, so that one native call posts any run of them.
 *
 * Its methods write what was checked before, unless they say that they check.
 */
export class NativeList {
  /** The first request of the run that was checked last. */
  first: Deno.PointerObject;
  /** The rules that the run was checked by. `undefined` makes the next post check its requests. */
  checkedBy: object | undefined = undefined;
  /** The run: the index of its first request, and how many it has. */
  start = 0;
  count = 0;
  #disposals = 0;
  /** UD: how many sends of the run are signaled. */
  #signaled = 0;
  /** UD: the only address handle of the run, if it has only one. */
  #only: AhCore | undefined = undefined;
  /** UD: the only request of the run. */
  #single: number = SEVERAL;
  /** UD: the number of the last send of the run. */
  #lastNumber = 0;
  /** UD: the protection domain that the address handles of the run were checked against. */
  #pd: ProtectionDomain | undefined = undefined;
  /** The structs, which native code reads while they are posted, also as words of 32 bits: `stride` of them each. */
  readonly view: DataView<ArrayBuffer>;
  readonly words: Uint32Array<ArrayBuffer>;
  readonly stride: number;
  readonly capacity: number;
  readonly maxSge: number;
  /** Sends: the attributes of each request, as bits of `SendField.bit`. */
  readonly given: Uint16Array<ArrayBuffer>;
  readonly ahs: (AhCore | undefined)[];
  /** Sends: the memory windows that requests bind. It is undefined if no request does. */
  binds: (Bind | undefined)[] | undefined = undefined;
  /** UD: the number of each send of the run, counted as in `SendTracker`. */
  readonly #numbers: Int32Array<ArrayBuffer>;
  /** Bytes of memory of each request. */
  readonly lengths: Float64Array<ArrayBuffer>;
  readonly #sges: DataView<ArrayBuffer>;
  /** The region of each scatter/gather element, if it is known, and the offset of the element in it. */
  readonly #regions: (Region | undefined)[];
  readonly #offsets: Float64Array<ArrayBuffer>;
  readonly #address: bigint;
  /** The same in two words: BigInts take longer. */
  readonly #low: number;
  readonly #high: number;
  readonly #pointers: (Deno.PointerObject | undefined)[];
  /** The last request of the run, which is linked to none. */
  #end: number;

  constructor(layout: Layout, init: RequestListInit) {
    const { capacity, maxSge = 1 } = snapshot(init, "requests", ["capacity", "maxSge"]);
    this.capacity = positiveInt(capacity, "capacity");
    this.maxSge = positiveInt(maxSge, "maxSge");
    if (capacity * maxSge > MAX_ELEMENTS) {
      throw new RangeError(
        `Cannot make room for requests: they have ${
          capacity * maxSge
        } scatter/gather elements, and at most ${MAX_ELEMENTS} are possible`,
      );
    }
    this.stride = layout.size >> 2;
    const bytes = new Uint8Array(layout.size * capacity);
    this.view = new DataView(bytes.buffer);
    this.words = new Uint32Array(bytes.buffer);
    this.lengths = new Float64Array(capacity);
    const sends = layout === structs.ibv_send_wr ? capacity : 0;
    this.given = new Uint16Array(sends);
    this.ahs = new Array(sends).fill(undefined);
    this.#numbers = new Int32Array(sends);
    this.#sges = allocStruct(structs.ibv_sge, capacity * maxSge);
    this.#regions = new Array(capacity * maxSge).fill(undefined);
    this.#offsets = new Float64Array(capacity * maxSge);
    this.first = bufferPointer(bytes);
    this.#pointers = new Array(capacity).fill(undefined);
    this.#pointers[0] = this.first;
    this.#address = bufferAddress(bytes);
    this.#low = Number(this.#address & 0xffff_ffffn);
    this.#high = Number(this.#address >> 32n);
    this.#end = capacity - 1;
    const list = bufferAddress(this.#sges);
    for (let i = 0; i < capacity; i++) {
      this.#link(i, i + 1);
      this.#request(i).sg_list = list + BigInt(i * maxSge * SGE_SIZE);
    }
  }

  #request(index: number): Accessors<typeof REQUEST> {
    return new Request(this.view, index * this.stride * 4);
  }

  #element(slot: number): Accessors<typeof structs.ibv_sge.fields> {
    return new Sge(this.#sges, slot * SGE_SIZE);
  }

  #link(index: number, target: number): void {
    const at = index * this.stride + NEXT;
    const isEnd = target === this.capacity;
    const low = this.#low + target * this.stride * 4;
    this.words[at] = isEnd ? 0 : low;
    this.words[at + 1] = isEnd ? 0 : this.#high + Math.floor(low / 0x1_0000_0000);
  }

  /** Checks that there is a request. Returns its first word. */
  at(index: number): number {
    if (!(typeof index === "number" && index >>> 0 === index && index < this.capacity)) {
      integer(index, "index", 0, this.capacity - 1);
    }
    return index * this.stride;
  }

  /** Sets `wr_id`. No check of a run depends on it. */
  setWrId(index: number, wrId: number | bigint): void {
    const at = index * this.stride + WR_ID;
    if (typeof wrId === "number" && wrId >>> 0 === wrId) {
      this.words[at] = wrId;
      this.words[at + 1] = 0;
    } else this.#setBig(at, wrId);
  }

  #setBig(at: number, value: number | bigint): void {
    this.view.setBigUint64(at * 4, typeof value === "bigint" ? value : BigInt(value), true);
  }

  setSge(index: number, sge: Element | readonly Element[]): void {
    const first = index * this.maxSge;
    if (!isList(sge)) {
      this.#setElement(first, sge);
      this.lengths[index] = sge.length;
      this.#endElements(index, 1);
      return;
    }
    let total = 0;
    for (let i = 0; i < sge.length; i++) {
      this.#setElement(first + i, sge[i]!);
      total += sge[i]!.length;
    }
    this.lengths[index] = total;
    this.#endElements(index, sge.length);
  }

  #setElement(slot: number, { addr, length, lkey, region, offset }: Element): void {
    const element = this.#element(slot);
    element.addr = addr;
    element.length = length;
    element.lkey = lkey;
    this.#regions[slot] = region;
    this.#offsets[slot] = offset;
  }

  /** A region that the request no longer uses may be disposed without any effect on it. */
  #endElements(index: number, count: number): void {
    this.words[index * this.stride + NUM_SGE] = count;
    const end = (index + 1) * this.maxSge;
    for (let slot = index * this.maxSge + count; slot < end; slot++) {
      this.#regions[slot] = undefined;
    }
    this.checkedBy = undefined;
  }

  /** Checks and sets the length of the first scatter/gather element. */
  setLength(index: number, length: number): void {
    if (this.words[this.at(index) + NUM_SGE] === 0) {
      throw new RangeError(`Cannot set length of request ${index}: it has no memory`);
    }
    const slot = index * this.maxSge;
    const region = this.#regions[slot];
    const max = region === undefined ? 0xffff_ffff : region.length - this.#offsets[slot]!;
    integer(length, "length", 0, Math.min(max, 0xffff_ffff));
    const element = this.#element(slot);
    if (element.length === length) return;
    this.lengths[index]! += length - element.length;
    element.length = length;
    this.checkedBy = undefined;
  }

  numSge(index: number): number {
    return this.words[index * this.stride + NUM_SGE]!;
  }

  firstSge(index: number): Pick<Element, "addr" | "length" | "lkey"> {
    return this.#element(index * this.maxSge);
  }

  /** The scatter/gather elements of a request, as `struct ibv_sge *`. */
  sgeList(index: number): Deno.PointerObject {
    return bufferPointer(new Uint8Array(this.#sges.buffer, index * this.maxSge * SGE_SIZE));
  }

  assertMemory(index: number): void {
    const first = index * this.maxSge;
    for (let i = this.numSge(index) - 1; i >= 0; i--) {
      const region = this.#regions[first + i];
      if (region !== undefined && !region.isOpen) region.assertAttached();
    }
  }

  /** Checks that native code may read the memory of a request by its addresses, as it does for inline data. */
  assertInlineMemory(index: number): void {
    for (let i = 0; i < this.numSge(index); i++) {
      const slot = index * this.maxSge + i;
      const region = this.#regions[slot];
      if (region === undefined) {
        throw new TypeError(
          "Cannot send inline: the memory is not given as a slice of a memory region",
        );
      }
      const start = region.assertReadable();
      const offset = this.#offsets[slot]!;
      if (this.#element(slot).addr !== start + BigInt(offset)) {
        throw new TypeError("Cannot send inline: the memory is not within its memory region");
      }
    }
  }

  /** Checks that there is a request. Returns the opcode of the send. */
  opcodeOf(index: number): number {
    return this.opcodeAt(this.at(index));
  }

  /** The opcode of the send whose first word this is. */
  opcodeAt(at: number): number {
    return this.words[at + OPCODE]!;
  }

  flags(index: number): number {
    return this.words[index * this.stride + FLAGS]!;
  }

  setFlags(index: number, flags: number): void {
    this.words[index * this.stride + FLAGS] = flags;
    this.checkedBy = undefined;
  }

  /** Begins a send that will have these attributes. Earlier ones are cleared. */
  begin(index: number, opcode: number, flags: number, given = 0): void {
    const { words } = this;
    const at = index * this.stride;
    words[at + OPCODE] = opcode;
    words[at + FLAGS] = flags;
    words.fill(0, at + FLAGS + 1, at + ATTRIBUTES_END);
    this.given[index] = given;
    this.ahs[index] = undefined;
    if (this.binds !== undefined) this.binds[index] = undefined;
    this.checkedBy = undefined;
  }

  set32(index: number, { word }: SendField, value: number): void {
    this.words[index * this.stride + word] = value;
  }

  set64(index: number, { word }: SendField, value: number | bigint): void {
    this.#setBig(index * this.stride + word, value);
  }

  get32(index: number, { word }: SendField): number {
    return this.words[index * this.stride + word]!;
  }

  get64(index: number, { word }: SendField): bigint {
    return this.view.getBigUint64((index * this.stride + word) * 4, true);
  }

  /** Sets the immediate data, which is in network byte order. */
  setImmData(index: number, immData: number): void {
    this.#request(index).imm_data = immData;
  }

  setAh(index: number, at: number, ah: AhCore): void {
    ah.write(this.words, at + AH);
    this.noteAh(index, ah, AH_BIT);
  }

  setRemote(index: number, at: number, qpn: number, qkey: number): void {
    const { words } = this;
    words[at + QPN] = qpn;
    words[at + QKEY] = qkey;
    this.given[index]! |= REMOTE_BITS;
  }

  /** Notes the address handle of a request, and the attributes that are given with it. */
  noteAh(index: number, ah: AhCore, given: number): void {
    this.given[index]! |= given;
    this.ahs[index] = ah;
    if (index === this.#single) this.#only = ah;
    else if (this.#only !== undefined) this.#only = undefined;
    // The handle is open: it needs another check only if its protection domain is not the one that was checked.
    if (ah.base !== this.#pd) this.checkedBy = undefined;
  }

  setBind(index: number, mw: MemoryWindow, rkey: number, info: Complete<MwBindInfo>): void {
    const at = (index * this.stride + FIELDS.bindInfo.word) * 4;
    bindingCodec.write(info, {}, this.view, at).writeHandles();
    this.set64(index, FIELDS.mw, handleAddress(mw.unsafeHandle));
    this.set32(index, FIELDS.bindRkey, rkey);
    this.binds ??= new Array(this.capacity).fill(undefined);
    this.binds[index] = { mw, mr: info.mr, rkey };
    this.checkedBy = undefined;
  }

  /** The argument of `ibv_wr_bind_mw`: a `struct ibv_mw_bind_info`. */
  bindInfo(index: number): Deno.PointerObject {
    const at = index * this.stride + FIELDS.bindInfo.word;
    return bufferPointer(new Uint8Array(this.view.buffer, at * 4));
  }

  /** Whether this run was checked by these rules, and nothing has changed since. */
  isChecked(start: number, count: number, rules: object): boolean {
    return rules === this.checkedBy && count === this.count && start === this.start &&
      disposals.count === this.#disposals;
  }

  /** Begins the check of a run: it is within the list, linked, and its first request is noted. */
  beginRun(start: number, count: number): void {
    integer(start, "start", 0, this.capacity - 1);
    integer(count, "count", 1, this.capacity - start);
    this.checkedBy = undefined;
    const last = start + count - 1;
    if (last !== this.#end) {
      this.#link(this.#end, this.#end + 1);
      this.#link(last, this.capacity);
      this.#end = last;
    }
    this.start = start;
    this.count = count;
    this.first = this.#pointers[start] ??= bufferPointer(
      new Uint8Array(this.view.buffer, start * this.stride * 4),
    );
  }

  endRun(rules: object): void {
    this.checkedBy = rules;
    this.#disposals = disposals.count;
  }

  /** UD: numbers the first sends of the run. */
  sumUp(count: number, pd: ProtectionDomain, allSignaled: boolean): void {
    this.count = count;
    this.#pd = pd;
    const first = this.ahs[this.start]!;
    this.#only = first;
    this.#single = count === 1 ? this.start : SEVERAL;
    let signaled = 0;
    for (let i = this.start; i < this.start + count; i++) {
      this.#numbers[i] = signaled + 1;
      if (allSignaled || (this.flags(i) & SendFlags.SIGNALED) !== 0) signaled++;
      if (this.ahs[i] !== first) this.#only = undefined;
    }
    this.#signaled = signaled;
    this.#lastNumber = this.#numbers[this.start + count - 1]!;
  }

  /** UD: notes that the sends that were numbered were posted. */
  posted(tracker: SendTracker): void {
    const before = tracker.posted(this.#signaled);
    if (this.#only === undefined) this.#noteEach(tracker, before);
    else this.#only.noteSend(tracker, before + this.#lastNumber);
  }

  #noteEach(tracker: SendTracker, before: number): void {
    const { ahs } = this;
    const numbers = this.#numbers;
    const last = this.start + this.count - 1;
    let ah = ahs[this.start]!;
    for (let i = this.start; i < last; i++) {
      const next = ahs[i + 1]!;
      if (ah !== next) ah.noteSend(tracker, before + numbers[i]!);
      ah = next;
    }
    ah.noteSend(tracker, before + numbers[last]!);
  }

  /** The place of a request in the run, by its address; `undefined` if the run does not have it. */
  placeOf(address: bigint): number | undefined {
    const place = Number(address - this.#address) / (this.stride * 4) - this.start;
    return Number.isInteger(place) && place >= 0 && place < this.count ? place : undefined;
  }
}

/** The most scatter/gather elements of a list: more would fill the memory of the process. */
const MAX_ELEMENTS = 2 ** 24;

function isList(sge: Element | readonly Element[]): sge is readonly Element[] {
  return Array.isArray(sge);
}
