import { withText } from "../../internal/texts.ts";
import { toCaller } from "../../internal/caller.ts";
import { integer, positiveInt, snapshot } from "../../internal/checks.ts";
import { clock } from "../../wait/clock.ts";
import { changesAddresses } from "../../internal/ports.ts";
import { inTurn } from "../../wait/turns.ts";
import { type AhAttr, ahAttrCodec, type AhAttrInit } from "../address/ah_attr.ts";
import { Gid } from "../address/gid.ts";
import type { Grh } from "../address/grh.ts";
import { type AddressHandle, AhCore } from "../address_handle/address_handle.ts";
import { initError } from "../address_handle/hints.ts";
import {
  checkWc,
  grhIn,
  type PacketOptions,
  readPacketOptions,
  viewOfGrh,
} from "../address_handle/packet.ts";
import type { WcAddress } from "../completion/work_completion.ts";
import type { BatchCore } from "../completion/cq_core.ts";
import { batchCore, type WorkCompletionList } from "../completion/work_completion_list.ts";
import { type PeerOptions, peerOptions } from "../core/abortable.ts";
import { instance } from "../core/checks.ts";
import { assertOpen, type Kind, Resource } from "../core/resource.ts";
import { type AsyncEvents, asyncEvents, type EventListener } from "../device/async_events.ts";
import { checkPort } from "../device/context.ts";
import type { MemoryRegion, MemorySlice } from "../memory/memory_region.ts";
import { ProtectionDomain } from "../memory/protection_domain.ts";
import { GidCache } from "./gid_cache.ts";
import { GrhMemory } from "./grh_memory.ts";
import { PeerHandles } from "./peer_handles.ts";
import { ReplyAddress, writeWords } from "./reply_address.ts";
import { senderMakers, type Senders, type Words } from "./senders.ts";

/**
 * Attributes of a `ReplyPath`.
 *
 * @category Reply path
 */
export interface ReplyPathInit {
  /** The port that receives the packets and sends the replies, counted from 1. */
  readonly portNum: number;
  /**
   * The number of peers whose handles are kept; 1024 if it is left out. Each peer needs an address handle of the device.
   * A peer is an address: several queue pairs of one address are one peer.
   * The path needs about 100 bytes for each peer from the start.
   */
  readonly maxPeers?: number | undefined;
  /**
   * The number of peers whose handles `ReplyPath.toAsync` makes at the same time; 64 if it is left out. The
   * senders of packets choose their addresses: without a limit, packets from many addresses that do not answer would
   * make all others wait for seconds.
   */
  readonly maxPending?: number | undefined;
}

/**
 * Replies to datagrams: returns the `AddressHandle` of a packet's sender, found by the packet's completion and GRH. The
 * handle is for the same address as that of `AddressHandle.fromWc`. The path keeps the port's GID table and the handles
 * of known peers: it does not search the table or make a handle for each packet.
 *
 * - `ReplyPath.to` returns the handle for a `WorkCompletion` and its GRH.
 * - `ReplyPath.toAsync` does not block while the kernel finds the link address
 *   of an unknown peer.
 * - `ReplyPath.toAt` is for completions of
 *   `CompletionQueue.pollInto`.
 * - `ReplyPath.toAddress` returns the handle for an address that the program knows.
 *
 * **The handles belong to the path: do not dispose them.** A handle for a packet can be used for posts until `maxPeers`
 * further packets are answered: post no more than `maxPeers` replies at once. A send in progress keeps its handle.
 *
 * **Without a GRH.** Packets of some devices never have one: a completion then names a known sender by `slid`, the
 * number of an address handle, and a stranger by its GID, and the same calls find the sender. The module of such a
 * device has the classes that read the GID. `grh` is ignored. If the program itself has made a handle for a peer in the
 * protection domain, the path returns that handle. A completion has the number that its sender had when the message
 * came: `maxPeers` must be no smaller than the completion queue.
 *
 * **Handles follow the device's addresses.** Each call first reads the events of the device, with one system call.
 * After a change of the port's GIDs, of its LID or state, or after a failure of the device, the path reads the GID
 * table again and makes new handles. The methods that take a batch read the events before the first completion of a
 * poll, but at most once a millisecond, and also when they find no address or no handle. Even so, the kernel reports
 * each change only after it has made it.
 *
 * @example Answering all datagrams of a poll
 * ```ts
 * import type { CompletionQueue, MemoryRegion, QueuePair, ReplyPath } from "@rdma/ibverbs";
 * import type { SendRequestList, WorkCompletionList } from "@rdma/ibverbs";
 *
 * interface Parts {
 *   readonly cq: CompletionQueue;
 *   readonly qp: QueuePair;
 *   readonly mr: MemoryRegion;
 *   readonly path: ReplyPath;
 *   readonly batch: WorkCompletionList;
 *   readonly replies: SendRequestList;
 * }
 *
 * function answer({ cq, qp, mr, path, batch, replies }: Parts): void {
 *   const count = cq.pollInto(batch);
 *   for (let i = 0; i < count; i++) {
 *     if (batch.status(i) !== 0) batch.at(i).check(); // throws
 *     const offset = batch.wrIdLow(i); // the receive was posted with the offset of its buffer as wrId
 *     replies.setSge(i, mr.sge(offset + 40, batch.byteLen(i) - 40));
 *     replies.setAh(i, path.toAt(batch, i, mr, offset));
 *     replies.setRemote(i, batch.srcQp(i), 0x1111_1111);
 *   }
 *   if (count > 0) qp.postSend(replies, 0, count);
 * }
 * ```
 *
 * @category Reply path
 */
export class ReplyPath extends Resource {
  static readonly #KIND: Kind<ReplyPath> = {
    name: "reply path",
    closing: (path) => {
      // The next use checks the path again.
      path.#poll = -1;
      path.#events.listeners.delete(path.#listener);
      path.#peers.abort(new TypeError("Cannot use reply path: it is disposed"));
    },
    destroy: (_, path) => path.#peers[Symbol.dispose](),
    describe: ({ portNum, size, maxPeers }) => ({ portNum, size, maxPeers }),
  };

  /** The protection domain of the handles. */
  readonly pd: ProtectionDomain;
  /** The port, counted from 1. */
  readonly portNum: number;
  /** The number of peers whose handles are kept. */
  readonly maxPeers: number;
  readonly #events: AsyncEvents;
  readonly #listener: EventListener;
  readonly #peers: PeerHandles;
  readonly #maxPending: number;
  /** The address that was computed last. */
  readonly #address: ReplyAddress;
  readonly #memory: GrhMemory = new GrhMemory();
  /** The senders, where packets have no GRH. */
  readonly #senders: Senders | undefined;
  #gids: GidCache | undefined;
  /** The batch for whose poll the events were read already, and the number of that poll. */
  #batch: WorkCompletionList | undefined;
  #core: BatchCore | undefined;
  #poll = -1;
  /** The millisecond in which the events were read last for a batch. */
  #readAt = -1;
  /** Whether the events may have been read before the last poll. */
  #mayBeStale = false;

  /**
   * Makes a reply path. The device is not queried before the first packet is answered.
   *
   * @throws {TypeError} If an attribute has the wrong type or is unknown, or the protection domain is disposed.
   * @throws {RangeError} If the device has no such port, or a number is not positive.
   */
  constructor(pd: ProtectionDomain, init: ReplyPathInit) {
    instance(pd, ProtectionDomain, "pd");
    const given = snapshot(init, "reply path", ["portNum", "maxPeers", "maxPending"]);
    const { portNum: port, maxPeers = 1024, maxPending = 64 } = given;
    integer(maxPeers, "maxPeers", 1, 2 ** 24);
    positiveInt(maxPending, "maxPending");
    checkPort(pd.context, port);
    assertOpen(pd);
    super(ReplyPath.#KIND, [pd]);
    this.pd = pd;
    this.portNum = port;
    this.maxPeers = maxPeers;
    this.#maxPending = maxPending;
    this.#address = new ReplyAddress(port);
    this.#senders = senderMakers.of(pd.context.device)?.(pd, port);
    this.#peers = new PeerHandles(pd, maxPeers, () => this.#refresh(), this.#senders);
    this.#events = asyncEvents(pd.context);
    this.#listener = (event) => {
      if (changesAddresses(event, port)) this.invalidate();
    };
    this.#events.listeners.add(this.#listener);
  }

  /** The number of handles that the path has. Queue pairs with the same address share one. */
  get size(): number {
    return this.#peers.size;
  }

  /**
   * The handle of a packet's sender. For an unknown peer it makes one, which may block for a second while the kernel
   * resolves the peer's link address: `ReplyPath.toAsync` does not block.
   *
   * @param wc The completion of the receive. `sgid` matters only where packets have no GRH.
   * @param grh The packet's GRH. It may be left out if the completion's flags lack `WcFlags`.GRH.
   * @throws {RangeError} If an attribute of the completion is out of range.
   * @throws {TypeError} If the path is disposed.
   * @throws {VerbsError} As `AddressHandle.fromWc`; where packets have no GRH, ENODATA for a stranger whose GID was not
   * read, ENOENT if no handle has the number any more. The path does not remember a failure.
   */
  to(wc: WcAddress & { readonly sgid?: Gid | undefined }, grh?: Grh): AddressHandle {
    return this.#make(this.#addressOf(wc, grh));
  }

  /**
   * `ReplyPath.to` on another thread, for peers whose link address the kernel may not know. Callers that ask
   * for the same peer share one native call. The sender of a packet is a stranger: see `PeerOptions`. If the
   * signal aborts, the call rejects with the signal's reason. Where packets have no GRH, no link address is looked for, and
   * the handle is made at once.
   *
   * @param given The packet's GRH, or options.
   * @throws As `ReplyPath.to`; {TypeError} if the path is disposed in the meantime.
   * @throws {VerbsError} EAGAIN if the handles of `maxPending` other peers are being made.
   */
  async toAsync(
    wc: WcAddress & { readonly sgid?: Gid | undefined },
    given?: Grh | PacketOptions,
  ): Promise<AddressHandle> {
    return await inTurn(() => {
      const { grh, signal } = readPacketOptions(given, arguments[2]);
      return this.#makeAsync(this.#addressOf(wc, grh), this.#maxPending, signal);
    });
  }

  /** Reads a completion and its GRH now. Returns the function that computes the address of the sender. */
  #addressOf(
    wc: WcAddress & { readonly sgid?: Gid | undefined },
    grh: Grh | undefined,
  ): () => Words | AhCore {
    const address = checkWc(wc);
    const sgid = checkSgid(wc);
    const view = viewOfGrh(grh);
    const senders = this.#senders;
    if (senders === undefined) return () => this.#compute(address, view);
    return () => senders.of(address, sgid);
  }

  /**
   * The handle of a known address. The path keeps it like those of senders, and returns it again for the same address.
   * If it has to make one, it may block: `ReplyPath.toAddressAsync` does not.
   *
   * @throws {TypeError} If an attribute has the wrong type, is missing or is unknown, or the path is disposed.
   * @throws {RangeError} If an attribute is out of range, or `portNum` is not the port of the path.
   * @throws {VerbsError} As the constructor of `AddressHandle`.
   */
  toAddress(attr: AhAttrInit): AddressHandle {
    const words = this.#read(attr);
    return this.#make(() => words);
  }

  /**
   * `ReplyPath.toAddress` on another thread, as `ReplyPath.toAsync`. The limit `maxPending` applies only with
   * `untrusted`: other addresses are not chosen by packets.
   *
   * @throws As `ReplyPath.toAddress`; the signal's reason if it aborts.
   * @throws {VerbsError} EAGAIN with `untrusted` as `ReplyPath.toAsync`.
   */
  async toAddressAsync(attr: AhAttrInit, options: PeerOptions = {}): Promise<AddressHandle> {
    return await inTurn(() => {
      const { signal, untrusted } = peerOptions(options);
      const words = this.#read(attr);
      return this.#makeAsync(() => words, untrusted ? this.#maxPending : undefined, signal);
    });
  }

  #read(attr: AhAttrInit): Words {
    const { view, given } = ahAttrCodec.write(attr);
    integer(given.portNum, "portNum", this.portNum, this.portNum);
    return new Uint32Array(view.buffer);
  }

  #make(address: () => Words | AhCore): AddressHandle {
    while (true) {
      this.#refresh();
      const words = address();
      if (words instanceof AhCore) return words.handle;
      const ah = this.#peers.find(words) ?? this.#peers.make(words);
      if (ah !== undefined) return ah.handle;
    }
  }

  async #makeAsync(
    address: () => Words | AhCore,
    maxPending: number | undefined,
    signal: AbortSignal | undefined,
  ): Promise<AddressHandle> {
    while (true) {
      signal?.throwIfAborted();
      this.#refresh();
      const words = address();
      if (words instanceof AhCore) return words.handle;
      const made = this.#peers.find(words) ?? this.#made(words, maxPending, signal);
      // Callers that ask for one peer continue in their order.
      const ah = made instanceof Promise ? await made : made;
      if (ah?.isOpen) return ah.handle;
    }
  }

  #made(
    words: Words,
    maxPending: number | undefined,
    signal: AbortSignal | undefined,
  ): AhCore | undefined | Promise<AhCore | undefined> {
    if (this.#senders === undefined) return this.#peers.makeAsync(words, maxPending, signal);
    // No link address is looked up. A message may have the handle's number before another thread could report that number here.
    return this.#peers.make(words);
  }

  /**
   * `ReplyPath.to` for a completion in native layout. It allocates nothing for a known peer.
   *
   * @param batch The completions.
   * @param index The index of the completion.
   * @param memory The memory that the packet was received into.
   * @param offset The byte offset in `memory` at which the packet's buffer starts, and with it the GRH.
   * @throws {RangeError} If the index or the offset is out of range.
   * @throws {TypeError} If the path or the memory is disposed.
   * @throws {VerbsError} As `ReplyPath.to`.
   */
  toAt(
    batch: WorkCompletionList,
    index: number,
    memory: MemoryRegion | MemorySlice,
    offset: number,
  ): AddressHandle {
    const core = this.#look(batch);
    try {
      return this.#findAt(core, index, memory, offset).handle;
    } catch (error) {
      if (!this.#readIfStale()) throw toCaller(error, this.toAt);
      return this.toAt(batch, index, memory, offset);
    }
  }

  #findAt(
    core: BatchCore,
    index: number,
    memory: MemoryRegion | MemorySlice,
    offset: number,
  ): AhCore {
    if (this.#senders !== undefined) return this.#findNamed(this.#senders, core, index);
    while (true) {
      const words = this.#wordsAt(core, index, memory, offset);
      this.#address.dropStrayFlowLabel();
      const ah = this.#peers.find(words) ?? this.#peers.make(words);
      if (ah !== undefined) return ah;
    }
  }

  /** The handle of the sender whom a completion names. */
  #findNamed(senders: Senders, core: BatchCore, index: number): AhCore {
    checkIndex(core, index);
    while (true) {
      const words = senders.at(core, index);
      if (words instanceof AhCore) return words;
      const ah = this.#peers.find(words) ?? this.#peers.make(words);
      if (ah !== undefined) return ah;
    }
  }

  /**
   * The address of a packet's sender, equal to the result of `initAhFromWc`.
   *
   * @throws As `initAhFromWc`; {TypeError} if the path is disposed.
   */
  attr(wc: WcAddress & { readonly sgid?: Gid | undefined }, grh?: Grh): AhAttr {
    const address = checkWc(wc);
    const sgid = checkSgid(wc);
    const view = viewOfGrh(grh);
    this.#refresh();
    if (this.#senders !== undefined) return readWords(this.#senders.addressOf(address, sgid));
    this.#computeExactly(address, view);
    return readWords(this.#address.words);
  }

  /**
   * `ReplyPath.attr` for a completion in native layout, written as a `struct ibv_ah_attr`. It allocates nothing. The
   * other arguments are those of `ReplyPath.toAt`.
   *
   * @param attr Where to write the 32 bytes. After an error it is as before.
   * @throws {RangeError} If there is no room for them.
   * @throws As `ReplyPath.attr`, and as `ReplyPath.toAt` for the arguments.
   */
  writeAttr(
    attr: DataView,
    batch: WorkCompletionList,
    index: number,
    memory: MemoryRegion | MemorySlice,
    offset: number,
  ): void {
    if (!(attr instanceof DataView)) instance(attr, DataView, "attr");
    if (attr.byteLength < ahAttrCodec.size) throw noRoom(attr);
    const core = this.#look(batch);
    try {
      writeWords(this.#wordsAt(core, index, memory, offset), attr);
    } catch (error) {
      if (!this.#readIfStale()) throw toCaller(error, this.writeAttr);
      this.writeAttr(attr, batch, index, memory, offset);
    }
  }

  #wordsAt(
    core: BatchCore,
    index: number,
    memory: MemoryRegion | MemorySlice,
    offset: number,
  ): Words {
    checkIndex(core, index);
    if (this.#senders !== undefined) return this.#senders.addressAt(core, index);
    const at = this.#memory.find(memory, offset);
    const { view } = this.#memory;
    const errno = this.#address.computeAt(core.view, index, view, at, this.#table());
    if (errno !== 0) throw this.#error(errno, view, at);
    return this.#address.words;
  }

  /** Reads the events of the device. */
  #refresh(): void {
    assertOpen(this);
    this.#peers.trim();
    this.#events.drain();
  }

  /**
   * Forgets the GID table and all handles. Call it after a change that the device does not report, such as a new link
   * address of a peer.
   *
   * @throws {TypeError} If the path is disposed.
   */
  invalidate(): void {
    assertOpen(this);
    this.#gids = undefined;
    this.#peers.retire();
  }

  /**
   * The inside of a batch. If it was polled into since the last call, this reads the events, unless they were read in
   * this millisecond.
   */
  #look(batch: WorkCompletionList): BatchCore {
    if (batch === this.#batch && this.#core?.polls === this.#poll) return this.#core!;
    const core = batchCore(batch);
    const now = clock.now();
    this.#mayBeStale = now === this.#readAt;
    if (this.#mayBeStale) {
      assertOpen(this);
      this.#peers.trim();
    } else this.#refresh();
    this.#readAt = now;
    this.#batch = batch;
    this.#core = core;
    this.#poll = core.polls;
    return core;
  }

  /** Reads the events, unless that was done since the last poll. Returns whether it has. */
  #readIfStale(): boolean {
    if (!this.#mayBeStale) return false;
    this.#mayBeStale = false;
    this.#refresh();
    return true;
  }

  #computeExactly(wc: WcAddress, grh: DataView): void {
    const errno = this.#address.compute(wc, grh, 0, this.#table());
    if (errno !== 0) throw this.#error(errno, grh, 0);
  }

  #compute(wc: WcAddress, grh: DataView): Words {
    this.#computeExactly(wc, grh);
    this.#address.dropStrayFlowLabel();
    return this.#address.words;
  }

  #table(): GidCache {
    return this.#gids ??= GidCache.read(this.pd.context, this.portNum);
  }

  #error(errno: number, grh: DataView, at: number): Error {
    const { context } = this.pd;
    return initError(errno, { context, portNum: this.portNum, grh: grhIn(grh, at) });
  }
}

function noRoom({ byteLength }: DataView): RangeError {
  return new RangeError(
    `Cannot write address: attr has ${byteLength} bytes, and the address takes ${ahAttrCodec.size}`,
  );
}

function checkSgid({ sgid }: { readonly sgid?: Gid | undefined }): Gid | undefined {
  return sgid === undefined ? undefined : instance(sgid, Gid, "sgid");
}

function checkIndex({ capacity }: BatchCore, index: number): void {
  if (typeof index === "number" && index >>> 0 === index && index < capacity) return;
  throw noCompletion(index, capacity);
}

function readWords({ buffer }: Words): AhAttr {
  return withText(ahAttrCodec.read(new DataView(buffer)));
}

function noCompletion(index: number, capacity: number): RangeError {
  integer(index, "index", 0, Number.MAX_SAFE_INTEGER);
  return new RangeError(`Cannot answer completion ${index}: the batch has room for ${capacity}`);
}
