import { integer } from "../../internal/checks.ts";
import { made, partsIn } from "../../internal/made.ts";
import type { Cause } from "../../wait/state.ts";
import { inTurn } from "../../wait/turns.ts";
import type { Complete } from "../../internal/optional.ts";
import { errno } from "../../ffi/errno.ts";
import type { IbvAh } from "../../ffi/handles.ts";
import { verbs } from "../../ffi/library.ts";
import type { Outcome } from "../../ffi/library/bind.ts";
import { structs } from "../../ffi/layout.ts";
import { handleAddress } from "../../ffi/pointers.ts";
import { allocStruct } from "../../ffi/struct.ts";
import { ahAttrCodec, type AhAttrInit } from "../address/ah_attr.ts";
import type { Grh } from "../address/grh.ts";
import type { SendTracker } from "../completion/send_tracker.ts";
import type { WcAddress } from "../completion/work_completion.ts";
import {
  type AbortableCall,
  type BlockingCall,
  callLater,
  callNow,
  type PeerOptions,
  peerOptions,
} from "../core/abortable.ts";
import { instance } from "../core/checks.ts";
import { call } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { checkPort } from "../device/context.ts";
import { pdCore, ProtectionDomain } from "../memory/protection_domain.ts";
import { addressError, createFromWcError } from "./hints.ts";
import {
  type Packet,
  type PacketOptions,
  readPacket,
  readPacketOptions,
  wcCodec,
} from "./packet.ts";

const { offset: SL } = structs.ibv_ah_attr.fields.sl;

/** A `struct ibv_ah_attr`, as an attribute object is written or as the reply path computes it. */
type NativeAttr = DataView<ArrayBuffer> | Uint32Array<ArrayBuffer>;

/** Splits an address into halves, lower half first: both architectures are little-endian. */
const ADDRESS = new BigUint64Array(1);
const HALVES = new Int32Array(ADDRESS.buffer);

/** Up to this many queue pairs are kept without a check whether their sends are done. */
const MIN_LIMIT = 4;

/** A send of a queue pair, by its number. */
export interface Send {
  readonly tracker: SendTracker;
  readonly number: number;
}

/** The inside of an address handle: its native address, and the sends that use it. */
export class AhCore {
  readonly handle: AddressHandle;
  /** The protection domain that its queue pairs must have: see `PdCore.base`. */
  readonly base: ProtectionDomain;
  isOpen = true;
  /** The native address, in halves: a BigInt would be allocated. */
  readonly #low: number;
  readonly #high: number;
  /** The queue pair that sent with the handle last, and the number of that send. */
  #tracker: SendTracker | undefined;
  #last = 0;
  /** The last sends of other queue pairs. Most handles have none. */
  #others: Map<SendTracker, number> | undefined;
  /** The number of others at which the finished ones are removed, so that a send takes constant time on average. */
  #limit = MIN_LIMIT;

  constructor(handle: AddressHandle, base: ProtectionDomain, address: bigint) {
    this.handle = handle;
    this.base = base;
    ADDRESS[0] = address;
    this.#low = HALVES[0]!;
    this.#high = HALVES[1]!;
  }

  /** Writes the native address into two 32-bit words, lower half first. */
  write(words: Uint32Array, at: number): void {
    words[at] = this.#low;
    words[at + 1] = this.#high;
  }

  /** Notes that a send of a queue pair uses the handle. */
  noteSend(tracker: SendTracker, number: number): void {
    if (this.#tracker !== tracker) this.#switchTo(tracker);
    this.#last = number;
  }

  #switchTo(tracker: SendTracker): void {
    const last = this.#tracker;
    this.#tracker = tracker;
    if (last === undefined) return;
    const others = this.#others ??= new Map();
    others.set(last, this.#last);
    if (others.size < this.#limit) return;
    forgetDone(others);
    this.#limit = Math.max(MIN_LIMIT, 2 * others.size);
  }

  /** A send in progress that uses the handle; undefined if there is none. */
  sendUnderWay(): Send | undefined {
    const tracker = this.#tracker;
    if (tracker?.isUnderWay(this.#last)) return { tracker, number: this.#last };
    if (this.#others === undefined) return undefined;
    forgetDone(this.#others);
    const [other] = this.#others;
    return other && { tracker: other[0], number: other[1] };
  }
}

function forgetDone(sends: Map<SendTracker, number>): void {
  for (const [tracker, number] of sends) if (!tracker.isUnderWay(number)) sends.delete(tracker);
}

/** The inside of a handle; undefined if the value is no address handle. */
export let ahCore: (ah: AddressHandle) => AhCore | undefined;

/**
 * An address handle (`struct ibv_ah`): the address of a peer, prepared for the device. UD sends need one, besides the number
 * of the peer's queue pair and its qkey. It belongs to a protection domain, and only queue pairs of that domain can send
 * with it.
 *
 * There are these ways to make one:
 *
 * - for a known address: the constructor, or `AddressHandle.createAsync`, which does not block;
 * - for the sender of a datagram: `AddressHandle.fromWc`, or `AddressHandle.fromWcAsync`, which does not
 *   block;
 * - for the senders of many datagrams: `ReplyPath`, which keeps the handles.
 *
 * A send keeps the handle that it uses. If the handle is disposed while a send is in progress, nothing more can be
 * posted with it, and its native object is destroyed when the send has ended: when its completion is polled or, after a
 * failure, when the queue pair is reset or closed.
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
    isInUse: (ah) => {
      const send = ah.#core.sendUnderWay();
      // The queue pair of that send destroys the handle later.
      send?.tracker.whenDone(send.number, ah);
      return send !== undefined;
    },
    closing: (ah) => {
      ah.#core.isOpen = false;
    },
    destroy: (handle) => call("ibv_destroy_ah", "destroy address handle", [handle]),
    describe: (ah) => ({ device: ah.pd.context.device.name, ...ah.#shown() }),
  };

  /** The protection domain of the handle. */
  readonly pd: ProtectionDomain;
  readonly #core: AhCore;
  /** What `console.log` shows of the address. */
  readonly #shown: () => Shown;

  static {
    ahCore = (ah) => {
      try {
        return ah.#core;
      } catch {
        // Only address handles have the field. Each prepared request is checked like this: instanceof takes longer.
        return undefined;
      }
    };
  }

  /**
   * Makes an address handle (`ibv_create_ah`). On RoCE the kernel resolves the peer's link address, which may block for a
   * second: `AddressHandle.createAsync` does not block.
   *
   * @param pd The protection domain.
   * @param attr The address of the peer.
   * @throws {TypeError} If an attribute has the wrong type, is missing or is unknown, or the protection domain is
   * disposed.
   * @throws {RangeError} If an attribute is out of range, or the device has no such port.
   * @throws {VerbsError} If the device refuses. The hint names the likely cause.
   */
  constructor(pd: ProtectionDomain, attr: AhAttrInit) {
    instance(pd, ProtectionDomain, "pd");
    const { handle, shown } = partsIn<AhParts>(attr) ?? make(pd, readAttr(pd, attr));
    super(AddressHandle.#KIND, handle, [pd]);
    this.pd = pd;
    this.#shown = shown;
    this.#core = new AhCore(this, pdCore(pd).base, handleAddress(handle));
  }

  /**
   * Makes an address handle on another thread: the constructor without blocking.
   *
   * If the signal aborts, the call rejects with the signal's reason, and a handle that is made nevertheless is
   * destroyed again. At most 8 such calls run at the same time in a thread of JavaScript; others wait for their turn,
   * those for strangers after all others: see `PeerOptions`.
   *
   * @throws As the constructor; {TypeError} if the protection domain is disposed in the meantime.
   */
  static async createAsync(
    pd: ProtectionDomain,
    attr: AhAttrInit,
    options: PeerOptions = {},
  ): Promise<AddressHandle> {
    return await inTurn(async () => {
      const { signal, untrusted } = peerOptions(options);
      instance(pd, ProtectionDomain, "pd");
      return await createLater(
        pd,
        readAttr(pd, attr),
        untrusted ? "datagram" : "program",
        signal,
      );
    });
  }

  /**
   * Makes an address handle for the sender of a received packet (`ibv_create_ah_from_wc`). It does the same as
   * `initAhFromWc` followed by the constructor; call these two to see or change the address. It may block for a
   * second: `AddressHandle.fromWcAsync` does not block, and `ReplyPath` keeps the handles of senders.
   *
   * @example A reply
   * ```ts
   * import { AddressHandle, type MemoryRegion, type QueuePair, type WorkCompletion } from "@rdma/ibverbs";
   *
   * function reply(qp: QueuePair, mr: MemoryRegion, wc: WorkCompletion): void {
   *   using ah = AddressHandle.fromWc(mr.pd, 1, wc, mr.grhAt(0));
   *   qp.postSend({ sge: mr.sge(40, 8), ah, remoteQpn: wc.srcQp, remoteQkey: 0x1111_1111 });
   * }
   * ```
   *
   * @param pd The protection domain.
   * @param portNum The port that received the packet, counted from 1.
   * @param wc The completion of the receive.
   * @param grh The packet's GRH. It may be left out if the completion's flags lack `WcFlags`.GRH.
   * @throws {TypeError} If the protection domain is disposed.
   * @throws {RangeError} If the device has no such port, or an attribute of the completion is out of range.
   * @throws {VerbsError} As `initAhFromWc` and the constructor.
   */
  static fromWc(pd: ProtectionDomain, portNum: number, wc: WcAddress, grh?: Grh): AddressHandle {
    return callNow(creationFromWc(pd, portNum, wc, grh));
  }

  /**
   * `AddressHandle.fromWc` on another thread. If the signal aborts, it does as
   * `AddressHandle.createAsync`. The sender of a packet is a stranger: see `PeerOptions`.
   *
   * @param given The packet's GRH, or options.
   * @throws As `AddressHandle.fromWc`; {TypeError} if the protection domain is disposed in the meantime.
   */
  static async fromWcAsync(
    pd: ProtectionDomain,
    portNum: number,
    wc: WcAddress,
    given?: Grh | PacketOptions,
  ): Promise<AddressHandle> {
    return await inTurn(async () => {
      const { grh, signal } = readPacketOptions(given, arguments[4]);
      const creation = creationFromWc(pd, portNum, wc, grh);
      return await callLater({ ...creation, cause: "datagram" }, signal);
    });
  }
}

function readAttr(pd: ProtectionDomain, attr: AhAttrInit): DataView<ArrayBuffer> {
  const { view, given } = ahAttrCodec.write(attr, {}, allocStruct(structs.ibv_ah_attr));
  checkPort(pdCore(pd).context, given.portNum);
  return view;
}

/** A native handle, and the address that it is for. */
interface AhParts {
  readonly handle: IbvAh;
  readonly shown: () => Shown;
}

/** The part of an address that is shown. */
type Shown = Readonly<Record<string, unknown>>;

function make(pd: ProtectionDomain, attr: NativeAttr): AhParts {
  const handle = verbs().ibv_create_ah(pd.unsafeHandle, attr);
  if (handle === null) throw createError(pd, attr, errno());
  return { handle, shown: shownOf(attr) };
}

/** Keeps a copy: the struct may lie among others, or change. */
function shownOf({ buffer, byteOffset, byteLength }: NativeAttr): () => Shown {
  const copy = buffer.slice(byteOffset, byteOffset + byteLength);
  return () => {
    const { portNum, isGlobal, grh, dlid, sl } = ahAttrCodec.read(new DataView(copy));
    return {
      portNum,
      ...isGlobal && { dgid: grh.dgid, sgidIndex: grh.sgidIndex },
      ...dlid > 0 && { dlid },
      ...sl > 0 && { sl },
    };
  };
}

function shownPacket({ portNum, grh, wcView }: Packet): () => Shown {
  return () => {
    const { slid } = wcCodec.read(wcView);
    return { portNum, ...grh && { dgid: grh.sgid }, ...slid > 0 && { dlid: slid } };
  };
}

function createError(pd: ProtectionDomain, attr: NativeAttr, errno: number): Error {
  const { context } = pdCore(pd);
  return addressError("ibv_create_ah", "create address handle", errno, context, attr);
}

async function createLater(
  pd: ProtectionDomain,
  attr: NativeAttr,
  cause: Cause,
  signal: AbortSignal | undefined,
): Promise<AddressHandle> {
  return await callLater({
    owner: pd,
    cause,
    verb: "ibv_create_ah",
    args: () => [pd.unsafeHandle, attr],
    ...endings(pd, (errno) => createError(pd, attr, errno), shownOf(attr)),
  }, signal);
}

function creationFromWc(
  pd: ProtectionDomain,
  portNum: number,
  wc: WcAddress,
  grh: Grh | undefined,
): BlockingCall<"ibv_create_ah_from_wc", AddressHandle> {
  const { context } = pdCore(instance(pd, ProtectionDomain, "pd"));
  const packet = readPacket(context, portNum, wc, grh);
  const { wcView, grhView } = packet;
  return {
    owner: pd,
    verb: "ibv_create_ah_from_wc",
    args: () => [pd.unsafeHandle, wcView, grhView, portNum],
    ...endings(
      pd,
      (errno) => createFromWcError(errno, context, packet),
      shownPacket(packet),
    ),
  };
}

function endings(
  pd: ProtectionDomain,
  failed: (errno: number) => Error,
  shown: () => Shown,
): Complete<Pick<AbortableCall<Outcome<IbvAh | null>, AddressHandle>, "finish" | "discard">> {
  return {
    finish: ({ value, errno }) => {
      if (value === null) throw failed(errno);
      return new AddressHandle(pd, made<AhParts>({ handle: value, shown }));
    },
    discard: ({ value }) => {
      if (value !== null) verbs().ibv_destroy_ah(value);
    },
  };
}

/** Makes a handle from the words of a `struct ibv_ah_attr`, of which only the service level is not checked yet. */
export function fromWords(pd: ProtectionDomain, words: Uint32Array<ArrayBuffer>): AddressHandle {
  return new AddressHandle(pd, made<AhParts>(make(pd, checkSl(words))));
}

/** `fromWords` on another thread. The words must not change until it ends. */
export async function fromWordsAsync(
  pd: ProtectionDomain,
  words: Uint32Array<ArrayBuffer>,
  cause: Cause,
  signal: AbortSignal,
): Promise<AddressHandle> {
  return await createLater(pd, checkSl(words), cause, signal);
}

function checkSl(words: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  integer(words[SL >> 2]! >>> 8 * (SL & 3) & 0xff, "sl", 0, 15);
  return words;
}
