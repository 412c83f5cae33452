/**
 * Address handles.
 *
 * @module
 */

import { errno } from "../../ffi/errno.ts";
import type { IbvAh } from "../../ffi/handles.ts";
import { nonblocking, verbs } from "../../ffi/library.ts";
import type { Outcome } from "../../ffi/library/calls.ts";
import { structs } from "../../ffi/layout.ts";
import { handleAddress } from "../../ffi/pointers.ts";
import { type AhAttr, ahAttrCodec, type AhAttrInit } from "../address/ah_attr.ts";
import type { Grh } from "../address/grh.ts";
import type { SendTracker } from "../completion/send_tracker.ts";
import type { WcAddress } from "../completion/work_completion.ts";
import { abortable, type AbortOptions, signalOf } from "../core/abortable.ts";
import { instance } from "../core/checks.ts";
import { check, failure } from "../core/errors.ts";
import { Adopted, type NativeKind, NativeResource } from "../core/native_resource.ts";
import { checkPort } from "../device/context.ts";
import { ProtectionDomain } from "../memory/protection_domain.ts";
import { describeAh, describePacket, hintAh, hintFromWc } from "./hints.ts";
import { SendsUnderWay } from "./sends_under_way.ts";
import { checkWc, viewOfGrh, wcCodec } from "./wc_address.ts";

/** Splits an address into halves, lower half first: both architectures are little-endian. */
const ADDRESS = new BigUint64Array(1);
const HALVES = new Uint32Array(ADDRESS.buffer);

const { offset: SL } = structs.ibv_ah_attr.fields.sl;
const SL_WORD = SL >> 2;
const SL_SHIFT = 8 * (SL & 3);
/** The service level has 4 bits. */
const MAX_SL = 15;

/** Writes the native address of a handle into two 32-bit words, lower half first. */
export let writeAh: (ah: AddressHandle, words: Uint32Array, at: number) => void;

/**
 * Makes a handle from the words of a `struct ibv_ah_attr`. Its port must exist. A reply to an unknown peer takes 3 us;
 * with an {@linkcode AhAttrInit} that was read from the words and written again it took 16 us.
 */
export let fromWords: (pd: ProtectionDomain, words: Uint32Array<ArrayBuffer>) => AddressHandle;

/**
 * Whether a value is an address handle that is open. Only address handles have the private field, so reading it tells them
 * from all else: a test of the type first took 2 ns more, and `isOpen()`, which all classes share, 6 ns more.
 */
export let isOpenAh: (ah: AddressHandle) => boolean;

/** Notes that a send uses a handle. */
export let noteSend: (ah: AddressHandle, tracker: SendTracker, number: number) => void;

/**
 * An address handle (`struct ibv_ah`): the address of a peer, prepared for the device. UD sends need one, besides the number
 * of the peer's queue pair and its qkey. It belongs to a protection domain, and only queue pairs of that domain can send
 * with it.
 *
 * There are these ways to make one:
 *
 * - for a known address: the constructor, or {@linkcode AddressHandle.create}, which does not block;
 * - for the sender of a datagram: {@linkcode AddressHandle.fromWc}, or {@linkcode AddressHandle.createFromWc}, which does not
 *   block;
 * - for the senders of many datagrams: {@linkcode ReplyPath}, which keeps the handles.
 *
 * A handle is kept by the sends that use it. If it is disposed while a send is in progress, nothing can be posted with it
 * any more, and its native object is destroyed when the completion of that send is polled.
 *
 * @example A handle for a peer with a known address
 * ```ts
 * import { AddressHandle, Context, Gid, ProtectionDomain } from "@rdma/ibverbs";
 *
 * using context = Context.open();
 * using pd = new ProtectionDomain(context);
 * const grh = { dgid: Gid.parse("10.0.0.2"), sgidIndex: 1, hopLimit: 64 };
 * using ah = new AddressHandle(pd, { portNum: 1, grh });
 * ```
 *
 * @category Address handles
 */
export class AddressHandle extends NativeResource<IbvAh> {
  static readonly #KIND: NativeKind<IbvAh, AddressHandle> = {
    name: "address handle",
    isInUse: (ah) => ah.#isInUse(),
    closing: (ah) => {
      ah.#isOpen = false;
    },
    destroy: (handle) => {
      check("ibv_destroy_ah", "destroy address handle", verbs().ibv_destroy_ah(handle));
    },
  };

  /** The protection domain of the handle. */
  readonly pd: ProtectionDomain;
  /** The native address, in halves: 64-bit integers would be allocated. */
  readonly #low: number;
  readonly #high: number;
  #isOpen = true;
  /** The queue pair that sent with the handle last, and the number of that send. */
  #tracker: SendTracker | undefined;
  #lastSend = 0;
  /** Other queue pairs that sent with the handle. Most handles have none. */
  #others: SendsUnderWay | undefined;

  static {
    writeAh = (ah, words, at) => {
      words[at] = ah.#low;
      words[at + 1] = ah.#high;
    };
    fromWords = (pd, words) => {
      // The constructor tells what is wrong.
      if ((words[SL_WORD]! >>> SL_SHIFT & 0xff) > MAX_SL) {
        return new AddressHandle(pd, attrOf(words));
      }
      const handle = verbs().ibv_create_ah(pd.unsafeHandle, words);
      if (handle === null) throw createError(errno(), pd, attrOf(words));
      return new AddressHandle(pd, new Adopted(handle));
    };
    isOpenAh = (ah) => {
      try {
        return ah.#isOpen;
      } catch {
        // It has no such field: it is no address handle.
        return false;
      }
    };
    noteSend = (ah, tracker, number) => {
      if (ah.#tracker !== tracker) ah.#switchTracker(tracker);
      ah.#lastSend = number;
    };
  }

  /**
   * Makes an address handle (`ibv_create_ah`). On RoCE the kernel resolves the peer's link address, which may block for a
   * second: {@linkcode AddressHandle.create} does not block.
   *
   * @param pd The protection domain.
   * @param attr The address of the peer.
   * @throws {TypeError} If an attribute has the wrong type, is missing or is unknown, or the protection domain is
   * disposed.
   * @throws {RangeError} If an attribute is out of range, or the device has no such port.
   * @throws {VerbsError} If the device refuses. The hint names the likely cause.
   */
  constructor(pd: ProtectionDomain, attr: AhAttrInit);
  /** @ignore Adopts a handle that another thread made. */
  constructor(pd: ProtectionDomain, attr: AhAttrInit | Adopted<IbvAh>);
  /** @ignore */
  constructor(pd: ProtectionDomain, attr: AhAttrInit | Adopted<IbvAh>) {
    instance(pd, ProtectionDomain, "pd");
    const handle = attr instanceof Adopted ? attr.handle : createAh(pd, attr);
    super(AddressHandle.#KIND, handle, [pd]);
    this.pd = pd;
    ADDRESS[0] = handleAddress(handle);
    this.#low = HALVES[0]!;
    this.#high = HALVES[1]!;
  }

  /**
   * Makes an address handle on another thread: {@linkcode AddressHandle} without blocking.
   *
   * If the signal aborts, the call rejects with the signal's reason, and a handle that is made afterwards is destroyed
   * again. At most 8 such calls run at the same time in a thread of JavaScript; others wait for their turn.
   *
   * @param pd The protection domain.
   * @param attr The address of the peer.
   * @param options The signal that ends the wait.
   * @throws {TypeError} As the constructor, or if the protection domain is disposed in the meantime.
   * @throws {RangeError} As the constructor.
   * @throws {VerbsError} As the constructor.
   */
  static async create(
    pd: ProtectionDomain,
    attr: AhAttrInit,
    options: AbortOptions = {},
  ): Promise<AddressHandle> {
    const signal = signalOf(options);
    instance(pd, ProtectionDomain, "pd");
    const { view, given } = readAttr(pd, attr);
    return await abortable({
      owner: pd,
      signal,
      start: () => nonblocking().ibv_create_ah(pd.unsafeHandle, view),
      finish: ({ value, errno }) => {
        if (value === null) throw createError(errno, pd, given);
        return new AddressHandle(pd, new Adopted(value));
      },
      discard,
    });
  }

  /**
   * Makes an address handle for the sender of a received packet (`ibv_create_ah_from_wc`). It does the same as
   * {@linkcode initAhFromWc} followed by the constructor; call these two to see or change the address. It may block for a
   * second: {@linkcode AddressHandle.createFromWc} does not block, and {@linkcode ReplyPath} keeps the handles of senders.
   *
   * @example A reply
   * ```ts
   * import { AddressHandle, type MemoryRegion, type QueuePair, type WorkCompletion } from "@rdma/ibverbs";
   *
   * function reply(qp: QueuePair, mr: MemoryRegion, wc: WorkCompletion): void {
   *   using ah = AddressHandle.fromWc(mr.pd, 1, wc, mr.grhAt(0));
   *   qp.postSend({ sge: mr.slice(40, 8), ah, remoteQpn: wc.srcQp, remoteQkey: 0x1111_1111 });
   * }
   * ```
   *
   * @param pd The protection domain.
   * @param port The port that received the packet, counted from 1.
   * @param wc The completion of the receive.
   * @param grh The packet's GRH. It may be left out if the completion's flags lack {@linkcode WcFlags}.GRH.
   * @throws {TypeError} If the protection domain is disposed.
   * @throws {RangeError} If the device has no such port, or an attribute of the completion is out of range.
   * @throws {VerbsError} As {@linkcode initAhFromWc} and the constructor.
   */
  static fromWc(pd: ProtectionDomain, port: number, wc: WcAddress, grh?: Grh): AddressHandle {
    const { view, bytes, address } = readPacket(pd, port, wc, grh);
    const handle = verbs().ibv_create_ah_from_wc(pd.unsafeHandle, view, bytes, port);
    if (handle === null) throw createFromWcError(errno(), pd, port, address, grh);
    return new AddressHandle(pd, new Adopted(handle));
  }

  /**
   * {@linkcode AddressHandle.fromWc} on another thread. If the signal aborts, it does as {@linkcode AddressHandle.create}.
   *
   * @param pd The protection domain.
   * @param port The port that received the packet, counted from 1.
   * @param wc The completion of the receive.
   * @param grh The packet's GRH. It may be left out if the completion's flags lack {@linkcode WcFlags}.GRH.
   * @param options The signal that ends the wait.
   * @throws {TypeError} As {@linkcode AddressHandle.fromWc}, or if the protection domain is disposed in the meantime.
   * @throws {RangeError} As {@linkcode AddressHandle.fromWc}.
   * @throws {VerbsError} As {@linkcode AddressHandle.fromWc}.
   */
  static async createFromWc(
    pd: ProtectionDomain,
    port: number,
    wc: WcAddress,
    grh?: Grh,
    options: AbortOptions = {},
  ): Promise<AddressHandle> {
    const signal = signalOf(options);
    const { view, bytes, address } = readPacket(pd, port, wc, grh);
    return await abortable({
      owner: pd,
      signal,
      start: () => nonblocking().ibv_create_ah_from_wc(pd.unsafeHandle, view, bytes, port),
      finish: ({ value, errno }) => {
        if (value === null) throw createFromWcError(errno, pd, port, address, grh);
        return new AddressHandle(pd, new Adopted(value));
      },
      discard,
    });
  }

  #switchTracker(tracker: SendTracker): void {
    const last = this.#tracker;
    if (last !== undefined) (this.#others ??= new SendsUnderWay()).set(last, this.#lastSend);
    this.#tracker = tracker;
  }

  /** Whether a send in progress uses the handle. The tracker of that send destroys the handle later. */
  #isInUse(): boolean {
    const send = this.#sendUnderWay();
    if (send === undefined) return false;
    const [tracker, number] = send;
    tracker.whenDone(number, this);
    return true;
  }

  #sendUnderWay(): readonly [SendTracker, number] | undefined {
    const tracker = this.#tracker;
    if (tracker?.isUnderWay(this.#lastSend)) return [tracker, this.#lastSend];
    return this.#others?.any();
  }
}

function attrOf(words: Uint32Array<ArrayBuffer>): AhAttr {
  return ahAttrCodec.read(new DataView(words.buffer, words.byteOffset, words.byteLength));
}

function readAttr(pd: ProtectionDomain, attr: AhAttrInit): ReturnType<typeof ahAttrCodec.write> {
  const written = ahAttrCodec.write(attr);
  checkPort(pd.context, written.given.portNum);
  return written;
}

function createAh(pd: ProtectionDomain, attr: AhAttrInit): IbvAh {
  const { view, given } = readAttr(pd, attr);
  const handle = verbs().ibv_create_ah(pd.unsafeHandle, view);
  if (handle === null) throw createError(errno(), pd, given);
  return handle;
}

interface Packet {
  readonly view: DataView<ArrayBuffer>;
  readonly bytes: DataView<ArrayBuffer>;
  readonly address: WcAddress;
}

function readPacket(
  pd: ProtectionDomain,
  port: number,
  wc: WcAddress,
  grh: Grh | undefined,
): Packet {
  instance(pd, ProtectionDomain, "pd");
  const address = checkWc(wc);
  const { view } = wcCodec.write(address);
  const bytes = viewOfGrh(grh);
  checkPort(pd.context, port);
  return { view, bytes, address };
}

/** Destroys a handle that nobody waits for any more. */
function discard({ value }: Outcome<IbvAh | null>): void {
  if (value !== null) verbs().ibv_destroy_ah(value);
}

function createError(value: number, pd: ProtectionDomain, attr: AhAttrInit): Error {
  return failure("ibv_create_ah", "create address handle", value, {
    detail: () => describeAh(attr),
    hint: (code) => hintAh(code, pd.context, attr),
  });
}

function createFromWcError(
  value: number,
  pd: ProtectionDomain,
  port: number,
  wc: WcAddress,
  grh: Grh | undefined,
): Error {
  return failure("ibv_create_ah_from_wc", "create address handle from completion", value, {
    detail: () => describePacket(port, grh),
    hint: (code) => hintFromWc(code, pd.context, port, wc, grh),
  });
}
