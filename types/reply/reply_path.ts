/**
 * Replies to datagrams: the sender's address handle at the cost of a look into a cache.
 *
 * @module
 */

import type { IbvPd } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { orAborted } from "../core/abortable.ts";
import type { AbortOptions } from "../core/abortable.ts";
import type { AddressHandle } from "../address_handle/address_handle.ts";
import { type AhAttr, readAhAttr } from "../address/ah_attr.ts";
import { initError } from "../address_handle/init_ah.ts";
import { type AsyncEvents, asyncEvents, type EventListener, EventType } from "../device/async_events.ts";
import { GidCache } from "./gid_cache.ts";
import { Grh, grhView } from "../address/grh.ts";
import { PeerHandles } from "./peer_handles.ts";
import type { ProtectionDomain } from "../memory/protection_domain.ts";
import { ReplyAddress } from "./reply_address.ts";
import { Resource } from "../core/resource.ts";
import { positiveInt } from "../core/checks.ts";
import type { WcAddress } from "../completion/work_completion.ts";
import { pollsOf, type WorkCompletions } from "../completion/work_completions.ts";

const { size: WC_SIZE, fields } = structs.ibv_wc;
const WC_FLAGS = fields.wc_flags.offset;
const SLID = fields.slid.offset;
const SL = fields.sl.offset;
const DLID_PATH_BITS = fields.dlid_path_bits.offset;
/** What the C function is given where there is no GRH: it reads one all the same. */
const NO_GRH = new DataView(new ArrayBuffer(Grh.SIZE));

/** Events after which addresses may mean something else. */
const { GID_CHANGE, PORT_ACTIVE, PORT_ERR, LID_CHANGE, SM_CHANGE, CLIENT_REREGISTER } = EventType;
const PORT_EVENTS: readonly EventType[] = [
  GID_CHANGE,
  PORT_ACTIVE,
  PORT_ERR,
  LID_CHANGE,
  SM_CHANGE,
  CLIENT_REREGISTER,
];

/** What a reply path is to be like. */
export interface ReplyPathInit {
  /** The port that packets are received on and replies sent from, from 1. */
  readonly port: number;
  /**
   * Most peers whose handles are kept, 1024 if left out. Each takes an address handle of the device, and some 100 bytes
   * from the start.
   */
  readonly maxPeers?: number;
}

/**
 * Answers datagrams: gives the {@linkcode AddressHandle} of a packet's sender from its work completion and GRH, as
 * {@linkcode ProtectionDomain.createAhFromWc} does, without a search of the GID table and without making a handle for
 * each packet. Made by {@linkcode ProtectionDomain.createReplyPath}.
 *
 * **Handles belong to the path: do not dispose them.** One is kept as long as fewer than `maxPeers` other peers are
 * answered; the one not asked for longest goes first. It can be posted with until then, so `maxPeers` must be at least
 * the number of handles taken before they are posted. Sends under way keep theirs, as ever.
 *
 * **It never answers by an address the device has given up.** Every call first looks whether the device has reported a
 * change of its GIDs, or another event that addresses depend on, which takes one system call; then the GID table is read
 * anew and all handles are made anew. The forms that take a batch look once per poll, before the first of its
 * completions. Handles taken before a change can be posted with for another second.
 *
 * @example Answering every datagram of a poll
 * ```ts
 * import type { CompletionQueue, QueuePair, ReplyPath, WorkCompletions } from "@rdma/ibverbs";
 * import type { MemoryRegion, SendRequests } from "@rdma/ibverbs";
 *
 * function answer(
 *   { cq, qp, mr, path, batch, replies }: {
 *     cq: CompletionQueue;
 *     qp: QueuePair;
 *     mr: MemoryRegion;
 *     path: ReplyPath;
 *     batch: WorkCompletions;
 *     replies: SendRequests;
 *   },
 * ): void {
 *   const bytes = mr.bytes();
 *   const memory = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
 *   const count = cq.pollInto(batch);
 *   for (let i = 0; i < count; i++) {
 *     const offset = batch.wrIdLow(i); // posted as the offset of the receive's buffer
 *     replies.setAh(i, path.toAt(batch, i, memory, offset));
 *     replies.setRemote(i, batch.srcQp(i), 0x1111_1111);
 *   }
 *   if (count > 0) qp.postSends(replies, count);
 * }
 * ```
 */
export class ReplyPath extends Resource<IbvPd> {
  /** Its name in messages. */
  protected override readonly kind = "reply path";
  /** The protection domain of the handles. */
  readonly pd: ProtectionDomain;
  /** The port, from 1. */
  readonly port: number;
  /** Most peers whose handles are kept. */
  readonly maxPeers: number;
  readonly #events: AsyncEvents;
  readonly #listener: EventListener;
  readonly #peers: PeerHandles;
  readonly #address: ReplyAddress;
  /** The GID table; undefined until it is read again. */
  #gids: GidCache | undefined;
  /** The poll whose completions need no further look for events. */
  #batch: WorkCompletions | undefined;
  #poll = 0;

  private constructor(pd: ProtectionDomain, port: number, maxPeers: number, events: AsyncEvents) {
    super(pd.unsafeHandle, [pd]);
    this.pd = pd;
    this.port = port;
    this.maxPeers = maxPeers;
    this.#address = new ReplyAddress(port);
    this.#peers = new PeerHandles(pd, maxPeers, () => this.refresh());
    this.#events = events;
    this.#listener = (type, portNum) => {
      const concernsPort = PORT_EVENTS.includes(type) && portNum === port;
      if (concernsPort || type === EventType.DEVICE_FATAL) this.invalidate();
    };
    this.#events.add(this.#listener);
  }

  /** @ignore The way in for {@linkcode ProtectionDomain.createReplyPath}. */
  static create(pd: ProtectionDomain, { port, maxPeers = 1024 }: ReplyPathInit): ReplyPath {
    pd.context.checkPort(port);
    positiveInt(maxPeers, "maxPeers");
    return new ReplyPath(pd, port, maxPeers, asyncEvents(pd.context));
  }

  /** How many peers' handles it keeps. */
  get size(): number {
    return this.#peers.size;
  }

  /**
   * The sender's handle. For a peer that is not known it makes one, which may block for a second while the kernel
   * resolves the peer's link address: {@linkcode ReplyPath.toAsync} does so on another thread.
   *
   * @param grh The packet's GRH; may be left out where the completion's flags lack {@linkcode WcFlags}.GRH.
   * @throws {VerbsError} As of {@linkcode ProtectionDomain.createAhFromWc}. A failure is not remembered.
   */
  to(wc: WcAddress, grh?: Grh): AddressHandle {
    const view = viewOf(grh);
    while (true) {
      this.refresh();
      this.#compute(wc, view);
      const ah = this.#find() ?? this.#peers.make(this.#address.words);
      if (ah !== undefined) return ah;
    }
  }

  /**
   * {@linkcode ReplyPath.to} straight from native memory, allocating nothing for a known peer.
   *
   * @param batch Where the completion was polled into.
   * @param index The completion's index in it.
   * @param memory Memory that the packet was received into.
   * @param offset Where the packet's buffer, and so its GRH, starts in `memory`, in bytes.
   * @throws {RangeError} If the index or the offset leads out of its memory.
   * @throws {VerbsError} As of {@linkcode ReplyPath.to}.
   */
  toAt(batch: WorkCompletions, index: number, memory: DataView, offset: number): AddressHandle {
    this.#refreshFor(batch);
    while (true) {
      const errno = this.#computeAt(batch.view, index * WC_SIZE, memory, offset);
      if (errno !== 0) throw this.#failure(errno, memory, offset);
      const ah = this.#find() ?? this.#peers.make(this.#address.words);
      if (ah !== undefined) return ah;
    }
  }

  /**
   * {@linkcode ReplyPath.to} that makes handles on another thread: for peers whose link address is not known. Those
   * who ask for the same peer meanwhile share one. Rejects with the signal's reason when that aborts; the handle is made
   * and kept all the same.
   */
  async toAsync(wc: WcAddress, grh?: Grh, { signal }: AbortOptions = {}): Promise<AddressHandle> {
    const view = viewOf(grh);
    while (true) {
      signal?.throwIfAborted();
      this.refresh();
      this.#compute(wc, view);
      const ah = this.#find() ??
        await orAborted(this.#peers.makeAsync(this.#address.words), signal);
      if (ah?.disposed === false) return ah;
    }
  }

  /**
   * The sender's address, equal to what {@linkcode Context.initAhFromWc} gives.
   *
   * @throws {VerbsError} As of {@linkcode Context.initAhFromWc}.
   */
  attr(wc: WcAddress, grh?: Grh): AhAttr {
    this.refresh();
    this.#compute(wc, viewOf(grh));
    return readAhAttr(new DataView(this.#address.words.buffer));
  }

  /**
   * Writes the sender's address in native layout (`struct ibv_ah_attr`), allocating nothing, with every bit as
   * `ibv_init_ah_from_wc` would.
   *
   * @param attr Where to write the 32 bytes.
   * @param base The byte offset in `attr`.
   * @returns 0, or the errno that the C function would leave.
   * @throws {RangeError} If one of the offsets leads out of its memory.
   */
  writeAttr(
    attr: DataView,
    base: number,
    batch: WorkCompletions,
    index: number,
    memory: DataView,
    offset: number,
  ): number {
    this.#refreshFor(batch);
    const errno = this.#computeAt(batch.view, index * WC_SIZE, memory, offset);
    this.#address.writeTo(attr, base);
    return errno;
  }

  /**
   * Takes up what the device has reported, as all the others do by themselves. Call it before going on with a batch
   * after having waited for something.
   */
  refresh(): void {
    this.assertOpen();
    this.#events.drain();
  }

  /** Forgets the GID table and all handles, as after a change that the device did not report: a peer's new link address. */
  invalidate(): void {
    this.assertOpen();
    this.#gids = undefined;
    this.#peers.retire();
  }

  #refreshFor(batch: WorkCompletions): void {
    const poll = pollsOf(batch);
    if (batch === this.#batch && poll === this.#poll && !this.disposed) return;
    this.refresh();
    this.#batch = batch;
    this.#poll = poll;
  }

  #table(): GidCache {
    return this.#gids ??= GidCache.read(this.pd.context, this.port);
  }

  #compute(wc: WcAddress, grh: DataView): void {
    const { wcFlags, slid, sl, dlidPathBits } = wc;
    const gids = this.#table();
    const errno = this.#address.compute(wcFlags, slid, sl, dlidPathBits, grh, 0, gids);
    if (errno !== 0) throw this.#failure(errno, grh, 0);
  }

  #computeAt(wc: DataView, at: number, grh: DataView, grhAt: number): number {
    return this.#address.compute(
      wc.getUint32(at + WC_FLAGS, true),
      wc.getUint16(at + SLID, true),
      wc.getUint8(at + SL),
      wc.getUint8(at + DLID_PATH_BITS),
      grh,
      grhAt,
      this.#table(),
    );
  }

  #failure(errno: number, grh: DataView, at: number): Error {
    const bytes = new Uint8Array(grh.buffer, grh.byteOffset + at, Grh.SIZE);
    return initError(errno, this.port, grh === NO_GRH ? undefined : new Grh(bytes));
  }

  #find(): AddressHandle | undefined {
    this.#address.dropStrayFlowLabel();
    return this.#peers.find(this.#address.words);
  }

  /** Disposes the path and its handles; those that sends use go when these complete. */
  override [Symbol.dispose](): void {
    this.#events.delete(this.#listener);
    using stack = new DisposableStack();
    stack.defer(() => super[Symbol.dispose]());
    stack.use(this.#peers);
  }

  /** Does nothing: it has no native object of its own, and stands on that of its protection domain. */
  protected override destroy(_handle: IbvPd): void {}
}

function viewOf(grh: Grh | undefined): DataView<ArrayBuffer> {
  if (grh !== undefined && !(grh instanceof Grh)) {
    throw new TypeError("Cannot use GRH: it is not a Grh");
  }
  return grh === undefined ? NO_GRH : grhView(grh);
}
