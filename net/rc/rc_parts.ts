import { needsGrh } from "../../internal/ports.ts";
import { nextTurn } from "../../internal/turns.ts";
import {
  AccessFlags,
  AddressHandle,
  CompletionChannel,
  CompletionQueue,
  type Context,
  Gid,
  MemoryRegion,
  type ProtectionDomain,
  QpType,
  QueuePair,
} from "../../mod.ts";
import { chosenGid } from "../shared/chosen_gid.ts";
import { gidOfTcp, type TcpEnds } from "./peer_gid.ts";
import { type RcAddress, toQpAddress } from "./rc_address.ts";
import type { RcDevice, Use } from "./rc_device.ts";
import type { RcSettings } from "./rc_options.ts";

/** Receives for messages that need no credit: HELLO, END or BYE, and two messages of credits. */
export const CONTROL_RECEIVES = 5;
/** Requests for such messages, and for the check that the peer is there. */
export const CONTROL_SENDS = 8;

const { LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC } = AccessFlags;

const REMOTE_ACCESS = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;

/** The verbs objects of one end. The device may be shared with other connections. */
export class RcParts implements Disposable {
  /** The settings they were made with. */
  readonly settings: RcSettings;
  /** Where sends and receives complete. */
  readonly cq: CompletionQueue;
  /** The queue pair: in INIT first. */
  readonly qp: QueuePair;
  /** `sendDepth` slots of `maxMessage` bytes. */
  readonly sendMemory: MemoryRegion;
  /** A slot for each receive. */
  readonly recvMemory: MemoryRegion;
  readonly #pd: ProtectionDomain;
  readonly #gidIndex: number | undefined;
  /** Memory that is shared with the peer. */
  readonly #exposed: Set<MemoryRegion> = new Set();
  readonly #owned: DisposableStack;

  /**
   * Makes them. Registering memory takes most of the time, and is done on another thread. If it fails, the use of the device
   * ends.
   */
  static async make(
    use: Use<RcDevice>,
    settings: RcSettings,
    ends: TcpEnds | undefined,
  ): Promise<RcParts> {
    using stack = new DisposableStack();
    stack.use(use);
    const { credits, sendDepth, maxMessage } = settings;
    const register = async (slots: number): Promise<MemoryRegion> =>
      stack.use(await MemoryRegion.createAsync(use.object.pd, slots * maxMessage, LOCAL_WRITE));
    const send = await register(sendDepth);
    const recv = await register(credits + CONTROL_RECEIVES);
    await nextTurn();
    return new RcParts(use.object, settings, ends, { send, recv }, stack);
  }

  private constructor(
    { context, pd }: RcDevice,
    settings: RcSettings,
    ends: TcpEnds | undefined,
    memory: { readonly send: MemoryRegion; readonly recv: MemoryRegion },
    stack: DisposableStack,
  ) {
    const { port, credits, sendDepth } = settings;
    this.settings = settings;
    this.#pd = pd;
    this.sendMemory = memory.send;
    this.recvMemory = memory.recv;
    const gidIndex = this.#gidIndex = gidIndexFor(context, settings, ends);
    const cap = { maxSendWr: sendDepth + CONTROL_SENDS, maxRecvWr: credits + CONTROL_RECEIVES };
    const channel = stack.use(new CompletionChannel(context));
    const cqe = cap.maxSendWr + cap.maxRecvWr;
    const cq = this.cq = stack.use(new CompletionQueue(context, { cqe, channel }));
    stack.defer(() => this.#exposed.forEach((mr) => mr.close()));
    this.qp = stack.use(new QueuePair(pd, { type: QpType.RC, sendCq: cq, recvCq: cq, cap }));
    // Without an rkey a peer can do nothing with these rights.
    const qpAccessFlags = REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;
    this.qp.init({ port, ...(gidIndex !== undefined && { gidIndex }), qpAccessFlags });
    this.#owned = stack.move();
  }

  /** What the peer needs. */
  get address(): RcAddress {
    const { qpn, psn, lid, gid, mtu, rdAtomic } = this.qp.address;
    const { credits, maxMessage } = this.settings;
    const own = { gid: gid ?? "::", lid, qpn, psn, mtu, rdAtomic };
    return { transport: "rc", ...own, credits, maxMessage };
  }

  /**
   * Connects the queue pair. The kernel resolves the link address of the peer when the queue pair is modified, and blocks
   * until then. Making an address handle on another thread resolves it before.
   *
   * @throws {Deno.errors.InvalidData} If the port needs a GID, and the peer names none.
   */
  async activate(peer: RcAddress, signal: AbortSignal): Promise<void> {
    const { port, timeout, retryCnt } = this.settings;
    if (this.#gidIndex !== undefined) {
      const dgid = Gid.parse(peer.gid);
      if (dgid.isZero) {
        throw new Deno.errors.InvalidData("Cannot connect: the address of the peer has no GID");
      }
      const grh = { dgid, sgidIndex: this.#gidIndex, hopLimit: 64 };
      const attr = { portNum: port, dlid: peer.lid, grh };
      using _ah = await AddressHandle.createAsync(this.#pd, attr, { signal });
    }
    // A peer that has fewer receives than it says must not keep sends waiting for ever.
    this.qp.activateRc(toQpAddress(peer), { timeout, retryCnt, rnrRetry: 6, minRnrTimer: 14 });
  }

  /** Registers memory that the peer may use. */
  async expose(
    source: number | ArrayBufferLike | ArrayBufferView,
    signal: AbortSignal | undefined,
  ): Promise<MemoryRegion> {
    const mr = await MemoryRegion.createAsync(this.#pd, source, REMOTE_ACCESS, { signal });
    this.#exposed.add(mr);
    // The domain outlives the connection if others use it.
    if (this.#owned.disposed) mr.close();
    return mr;
  }

  /** Memory that is shared with the peer was closed. */
  forget(mr: MemoryRegion): void {
    this.#exposed.delete(mr);
  }

  /** Disposes them, and ends the use of the device. */
  [Symbol.dispose](): void {
    this.#owned.dispose();
  }
}

/** The index of the GID to use; undefined if the port needs none and has none. */
function gidIndexFor(
  context: Context,
  { port, gidIndex }: RcSettings,
  ends: TcpEnds | undefined,
): number | undefined {
  if (gidIndex !== undefined) return chosenGid(context, port, gidIndex).gidIndex;
  if (!needsGrh(context.queryPort(port))) return undefined;
  const known = ends && gidOfTcp(context.gidTable(port), port, ends);
  return (known ?? context.recommendGid(port)).gidIndex;
}
