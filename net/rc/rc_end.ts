import { CmId, type ConnParamInit } from "../../cm.ts";
import { SILENT_HOST } from "../../internal/cm_reasons.ts";
import { made } from "../../internal/made.ts";
import { needsGrh } from "../../internal/ports.ts";
import { atEndOf, closeAtEnd } from "../../internal/program_end.ts";
import { settled } from "../../wait/descriptors.ts";
import { paced } from "../../wait/paced.ts";
import {
  AccessFlags,
  type Context,
  Gid,
  MemoryRegion,
  mtuBytes,
  type PeerOptions,
  type ProtectionDomain,
  QpState,
  QpType,
  QueuePair,
} from "../../mod.ts";
import { chosenGid } from "../shared/chosen_gid.ts";
import { givenOf, onFabric } from "../shared/fabric_options.ts";
import { addressOf, endsOfId, hasEnded, mtuWithin, orReset, resetBy } from "./cm_address.ts";
import { ANSWERED, type Attempt } from "./attempt.ts";
import { CmChannel } from "./cm_channel.ts";
import { Link } from "./link.ts";
import { type FoundEnds, gidOfTcp, type PeerEnds } from "./peer_gid.ts";
import { type RcAddress, readOffer, toQpAddress, writeOffer } from "./rc_address.ts";
import { capOf, type RcDevice } from "./rc_device.ts";
import type { RcSettings } from "./rc_options.ts";
import type { QueueShare } from "./shared_queue.ts";
import type { Slot } from "./slots.ts";
import { type Exposed, ExposedMemory } from "./remote_memory.ts";

const { LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC } = AccessFlags;

/**
 * If the peer has no receive, it asks for a pause of 1.28 ms, and this end tries again. A peer that has fewer receives
 * than it says must not keep sends waiting forever.
 */
const RECEIVE_RETRIES = { rnrRetry: 6, minRnrTimer: 14 };

const REMOTE_ACCESS = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;

/**
 * One end of a connection: its verbs objects, among them a device that may be shared, and the link that moves messages.
 * Until it is connected, leaving its scope closes it.
 */
export class RcEnd implements AsyncDisposable {
  readonly settings: RcSettings;
  readonly link: Link;
  /** How the ends have found each other; undefined if the program has exchanged the addresses. */
  readonly ends: FoundEnds | undefined;
  readonly #device: RcDevice;
  readonly #pd: ProtectionDomain;
  readonly #gidIndex: number | undefined;
  readonly #id: CmId | undefined;
  readonly #channel: CmChannel | undefined;
  readonly #qp: QueuePair;
  readonly #exposed: Set<MemoryRegion> = new Set();
  /** Its parts, in order. */
  readonly #parts: readonly Disposable[];
  #isClosed = false;
  #closed: () => void = () => {};
  #peer: RcAddress | undefined;

  /**
   * Makes an end, which ends the use of the device when it is closed, and closes the id and its channel if the peer is found
   * by one. Memory is registered on another thread, which takes most of the time.
   */
  static async make(
    device: RcDevice,
    settings: RcSettings,
    via?: FoundEnds | CmId,
  ): Promise<RcEnd> {
    using stack = new DisposableStack();
    const { slots } = stack.use(device);
    const slot = await slots.takeAsync();
    stack.defer(() => slots.give(slot));
    return await paced(() => {
      const end = new RcEnd(device, settings, via, slot, stack);
      end.#closed = closeAtEnd(end);
      stack.move();
      return end;
    });
  }

  private constructor(
    device: RcDevice,
    settings: RcSettings,
    via: FoundEnds | CmId | undefined,
    slot: Slot,
    stack: DisposableStack,
  ) {
    const { context, pd, queues } = device;
    const { portNum, pkeyIndex } = settings;
    this.settings = settings;
    this.#device = device;
    this.#pd = pd;
    const id = this.#id = via instanceof CmId ? via : undefined;
    const ends = this.ends = via instanceof CmId ? endsOfId(via) : via;
    const gidIndex = this.#gidIndex = id ? undefined : gidIndexFor(context, settings, ends);
    const share = queues.share();
    stack.defer(() => share.end());
    const { cq } = share.queue;
    const init = { qpType: QpType.RC, sendCq: cq, recvCq: cq, cap: capOf(settings) };
    const qp = this.#qp = stack.use(new QueuePair(pd, init));
    // Rights are given when there is a peer.
    if (id !== undefined) qp.modify({ ...id.initQpAttr(QpState.INIT), qpAccessFlags: 0 });
    else qp.init({ portNum, pkeyIndex, ...(gidIndex !== undefined && { gidIndex }) });
    this.link = new Link(
      qp,
      { share, slot, device },
      settings,
      () => id !== undefined && hasEnded(id),
    );
    const exposed = { [Symbol.dispose]: () => this.#exposed.forEach((mr) => mr.close()) };
    // Ending the connection first informs the peer.
    const channel = this.#channel = id && new CmChannel(id);
    this.#parts = [device, exposed, qp, ...(channel ? [channel] : [])];
    atEndOf(qp, () => this.#leave(share));
  }

  /** Returns its share of what connections share. */
  #leave(share: QueueShare): void {
    share.end();
    this.link.release();
    this.#device.slots.trim();
  }

  get address(): RcAddress {
    const { qpNum, psn, lid, gid, mtu, rdAtomic } = this.#qp.address;
    const { credits, maxMessage } = this.settings;
    const own = { gid: gid ?? "::", lid, qpNum, psn, mtu, rdAtomic };
    return { transport: "RC", ...own, credits, maxMessage };
  }

  /** The address of the peer. The end must be connected. */
  get peer(): RcAddress {
    return this.#peer!;
  }

  /**
   * Connects to the peer, whose address was checked. An end that the peer waits for gives `answer`: it is called when this
   * end is ready to receive, and this end sends nothing before the peer does.
   */
  async connect(
    peer: RcAddress,
    attempt: Attempt,
    { untrusted = false, answer }: {
      readonly untrusted?: boolean | undefined;
      readonly answer?: (() => Promise<void>) | undefined;
    } = {},
  ): Promise<this> {
    const { signal } = attempt;
    const { ackTimeout: timeout, retryCnt } = this.settings;
    if (this.#gidIndex !== undefined && Gid.parse(peer.gid).isZero) {
      throw new Deno.errors.InvalidData("Cannot connect: the address of the peer has no GID");
    }
    const choices = { timeout, retryCnt, ...RECEIVE_RETRIES, ...givenOf(this.settings) };
    attempt.step = ": no neighbour answers for the address of the peer (ARP, neighbour discovery)";
    await this.#qp.activateRcAsync(toQpAddress(peer), choices, { untrusted, signal });
    signal.throwIfAborted();
    attempt.step = ANSWERED;
    await this.#start(peer, signal, answer);
    return this;
  }

  /** Connects by the id that the end was made for, which knows the route. */
  async connectById(attempt: Attempt): Promise<this> {
    const { signal } = attempt;
    const id = this.#id!;
    attempt.step = `: ${SILENT_HOST}`;
    const { conn } = await id.connect(this.#qp, this.#param(id), { signal });
    attempt.step = ANSWERED;
    const offer = readOffer(conn!.privateData);
    const peer = await addressOf(id, offer, signal);
    await orReset(id, signal, async () => {
      await this.#activateById(id, peer, { signal });
      await id.establish({ signal });
    });
    this.#watch(id);
    await this.#start(peer, signal);
    return this;
  }

  /** Accepts the request of the id that the end was made for. The address of its sender was checked. */
  async acceptById(peer: RcAddress, signal: AbortSignal): Promise<this> {
    const id = this.#id!;
    await this.#start(peer, signal, async () => {
      await orReset(id, signal, async () => {
        await this.#activateById(id, peer, { untrusted: true, signal });
        await id.accept(this.#qp, this.#param(id), { signal });
      });
      this.#permit();
      this.#watch(id);
    });
    return this;
  }

  #param(id: CmId): ConnParamInit {
    const { settings } = this;
    const privateData = writeOffer({ ...settings, mtu: this.#mtuOf(id) });
    const { rnrRetry } = RECEIVE_RETRIES;
    return { privateData, retryCount: settings.retryCnt, rnrRetryCount: rnrRetry };
  }

  #mtuOf({ portNum }: CmId): number {
    return mtuBytes(this.#pd.context.queryPort(portNum).activeMtu);
  }

  /**
   * Moves the queue pair to RTS. Attributes that only this end decides are as over TCP. The connection manager decides
   * the path, but does not compare the MTUs of the ports.
   */
  async #activateById(id: CmId, { mtu }: RcAddress, options: PeerOptions): Promise<void> {
    const { settings } = this;
    const { ackTimeout: timeout, retryCnt } = settings;
    const { rnrRetry, minRnrTimer } = RECEIVE_RETRIES;
    const { ahAttr, ...attr } = id.initQpAttr(QpState.RTR);
    const path = {
      ahAttr: onFabric(ahAttr!, settings),
      pathMtu: mtuWithin(Math.min(mtu, this.#mtuOf(id))),
    };
    await this.#qp.modifyAsync({ ...attr, ...path, minRnrTimer }, options);
    this.#qp.modify({ ...id.initQpAttr(QpState.RTS), timeout, retryCnt, rnrRetry });
  }

  async #start(peer: RcAddress, signal: AbortSignal, answer?: () => Promise<void>): Promise<void> {
    if (this.#qp.state === QpState.RTS) this.#permit();
    await this.link.connect(peer.credits, signal, answer);
    this.#peer = peer;
  }

  /** The peer may use memory whose rkey it gets. It has no rkey before the first message. */
  #permit(): void {
    this.#qp.modify({ qpAccessFlags: REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC });
  }

  /** The peer's kernel reports when its program is gone. */
  #watch(id: CmId): void {
    this.#channel!.share();
    id.disconnected().then(
      () => this.link.break(resetBy()),
      (cause) => this.link.break(resetBy(cause)),
    );
  }

  async expose(
    source: number | ArrayBufferLike | ArrayBufferView,
    signal: AbortSignal | undefined,
  ): Promise<ExposedMemory> {
    const mr = await MemoryRegion.createAsync(this.#pd, source, REMOTE_ACCESS, { signal });
    // The domain outlives the connection if others use it.
    if (this.#isClosed) mr.close();
    this.#exposed.add(mr);
    return new ExposedMemory(made<Exposed>({ mr, closed: () => this.#exposed.delete(mr) }));
  }

  /** Closes it at once, and ends the use of the device. */
  close(): void {
    this.#stop();
    // A part that could not be closed is tried again at the next call.
    using stack = new DisposableStack();
    for (const part of this.#parts) stack.use(part);
    stack.defer(this.#closed);
  }

  #stop(): void {
    this.#isClosed = true;
    this.link.close(closedError());
  }

  /** Closes it: its parts when it is their turn. Then nothing waits for events any more. */
  async closePaced(): Promise<void> {
    this.#stop();
    await using stack = new AsyncDisposableStack();
    stack.defer(settled);
    stack.defer(this.#closed);
    for (const part of this.#parts) stack.defer(() => paced(() => part[Symbol.dispose]()));
  }

  /** The device is not in use any more when connecting has failed. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#peer === undefined) await this.closePaced();
  }
}

/** The error of calls of a connection that this end has closed. */
export function closedError(): Error {
  return new Deno.errors.BadResource("Cannot use connection: it is closed");
}

/** The index of the GID to use; undefined if the port needs none and has none. */
function gidIndexFor(
  context: Context,
  { portNum: port, gidIndex }: RcSettings,
  ends: PeerEnds | undefined,
): number | undefined {
  if (gidIndex !== undefined) return chosenGid(context, port, gidIndex).gidIndex;
  if (!needsGrh(context.queryPort(port))) return undefined;
  const known = ends && gidOfTcp(context.queryGidTable(port), port, ends);
  return (known ?? context.recommendGid(port)).gidIndex;
}
