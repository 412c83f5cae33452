import { CmId } from "../../cm.ts";
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
  mtuBytes,
  type ProtectionDomain,
  QpState,
  QpType,
  QueuePair,
} from "../../mod.ts";
import { chosenGid } from "../shared/chosen_gid.ts";
import { readOffer, writeOffer } from "./exchange.ts";
import { Link } from "./link.ts";
import { gidOfTcp, type TcpEnds } from "./peer_gid.ts";
import { CONTROL_RECEIVES, CONTROL_SENDS } from "./protocol.ts";
import { type RcAddress, type RcOffer, toQpAddress } from "./rc_address.ts";
import type { RcDevice } from "./rc_device.ts";
import type { RcSettings } from "./rc_options.ts";
import { ExposedMemory } from "./remote_memory.ts";

const { LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC } = AccessFlags;

const REMOTE_ACCESS = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;

/**
 * One end of a connection: its verbs objects, of which the device may be shared, and what moves messages. Until it is
 * connected, leaving its scope closes it.
 */
export class RcEnd implements AsyncDisposable {
  readonly settings: RcSettings;
  readonly link: Link;
  readonly #pd: ProtectionDomain;
  readonly #gidIndex: number | undefined;
  readonly #id: CmId | undefined;
  readonly #qp: QueuePair;
  readonly #exposed: Set<MemoryRegion> = new Set();
  /** What it is made of, in order. */
  readonly #parts: readonly Disposable[];
  #isClosed = false;
  #peer: RcAddress | undefined;

  /**
   * Makes an end, which ends the use of the device when it is closed, and closes the channel of the id if the peer is found
   * by one. Registering memory takes most of the time, and is done on another thread.
   */
  static async make(device: RcDevice, settings: RcSettings, way?: TcpEnds | CmId): Promise<RcEnd> {
    using stack = new DisposableStack();
    const { pd } = stack.use(device);
    const { credits, sendDepth, maxMessage } = settings;
    const register = async (slots: number): Promise<MemoryRegion> =>
      stack.use(await MemoryRegion.createAsync(pd, slots * maxMessage, LOCAL_WRITE));
    const send = await register(sendDepth);
    const recv = await register(credits + CONTROL_RECEIVES);
    await nextTurn();
    const end = new RcEnd(device, settings, way, { send, recv }, stack);
    stack.move();
    return end;
  }

  private constructor(
    device: RcDevice,
    settings: RcSettings,
    way: TcpEnds | CmId | undefined,
    memory: { readonly send: MemoryRegion; readonly recv: MemoryRegion },
    stack: DisposableStack,
  ) {
    const { context, pd } = device;
    const { portNum: port, credits, sendDepth } = settings;
    this.settings = settings;
    this.#pd = pd;
    const id = this.#id = way instanceof CmId ? way : undefined;
    const ends = way instanceof CmId ? undefined : way;
    const gidIndex = this.#gidIndex = id ? undefined : gidIndexFor(context, settings, ends);
    const cap = { maxSendWr: sendDepth + CONTROL_SENDS, maxRecvWr: credits + CONTROL_RECEIVES };
    const channel = stack.use(new CompletionChannel(context));
    const cqe = cap.maxSendWr + cap.maxRecvWr;
    const cq = stack.use(new CompletionQueue(context, { cqe, channel }));
    const init = { type: QpType.RC, sendCq: cq, recvCq: cq, cap };
    const qp = this.#qp = stack.use(new QueuePair(pd, init));
    // Without an rkey a peer can do nothing with these rights.
    const qpAccessFlags = REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;
    if (id !== undefined) qp.modify({ ...id.initQpAttr(QpState.INIT), qpAccessFlags });
    else qp.init({ port, ...(gidIndex !== undefined && { gidIndex }), qpAccessFlags });
    this.link = new Link(qp, cq, memory, settings);
    const exposed = { [Symbol.dispose]: () => this.#exposed.forEach((mr) => mr.close()) };
    // Ending the connection first tells the peer.
    const ways = id === undefined ? [] : [id.channel];
    this.#parts = [device, memory.send, memory.recv, channel, cq, exposed, qp, ...ways];
  }

  get address(): RcAddress {
    const { qpn, psn, lid, gid, mtu, rdAtomic } = this.#qp.address;
    const { credits, maxMessage } = this.settings;
    const own = { gid: gid ?? "::", lid, qpn, psn, mtu, rdAtomic };
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
  async connect(peer: RcAddress, signal: AbortSignal, answer?: () => Promise<void>): Promise<this> {
    const { timeout, retryCnt } = this.settings;
    if (this.#gidIndex !== undefined) await this.#resolve(peer, this.#gidIndex, signal);
    // A peer that has fewer receives than it says must not keep sends waiting for ever.
    this.#qp.activateRc(toQpAddress(peer), { timeout, retryCnt, rnrRetry: 6, minRnrTimer: 14 });
    signal.throwIfAborted();
    await this.link.connect(peer.credits, signal, answer);
    this.#peer = peer;
    return this;
  }

  /**
   * Connects by the id that the end was made for: one that knows the route, or one of a request, whose sender has told of
   * itself.
   */
  async connectById(signal: AbortSignal, asking?: RcOffer): Promise<this> {
    const id = this.#id!;
    const { timeout, retryCnt } = this.settings;
    id.setOptions({ ackTimeout: timeout });
    const privateData = writeOffer(this.settings);
    const param = { privateData, retryCount: retryCnt, rnrRetryCount: 6 };
    const answer = asking && (async () => {
      await id.accept(this.#qp, param, { signal });
      this.#watch(id);
    });
    const answered = asking ? undefined : await id.connect(this.#qp, param, { signal });
    const peer = addressOf(id, asking ?? readOffer(answered!.conn!.privateData));
    if (answered !== undefined) {
      id.establish();
      this.#watch(id);
    }
    await this.link.connect(peer.credits, signal, answer);
    this.#peer = peer;
    return this;
  }

  /** The peer's kernel tells when its program is gone. */
  #watch(id: CmId): void {
    id.channel.unref();
    const gone = "The connection is broken: the peer has disconnected";
    id.disconnected().then(
      () => this.link.break(new Deno.errors.ConnectionReset(gone)),
      (cause) => this.link.break(new Deno.errors.ConnectionReset(cause.message, { cause })),
    );
  }

  /**
   * The kernel resolves the link address of the peer when the queue pair is modified, and blocks until then. Making an
   * address handle on another thread resolves it before.
   */
  async #resolve(peer: RcAddress, sgidIndex: number, signal: AbortSignal): Promise<void> {
    const dgid = Gid.parse(peer.gid);
    if (dgid.isZero) {
      throw new Deno.errors.InvalidData("Cannot connect: the address of the peer has no GID");
    }
    const grh = { dgid, sgidIndex, hopLimit: 64 };
    const attr = { portNum: this.settings.portNum, dlid: peer.lid, grh };
    using _ah = await AddressHandle.createAsync(this.#pd, attr, { signal });
  }

  async expose(
    source: number | ArrayBufferLike | ArrayBufferView,
    signal: AbortSignal | undefined,
  ): Promise<ExposedMemory> {
    const mr = await MemoryRegion.createAsync(this.#pd, source, REMOTE_ACCESS, { signal });
    // The domain outlives the connection if others use it.
    if (this.#isClosed) mr.close();
    this.#exposed.add(mr);
    return new ExposedMemory(mr, () => this.#exposed.delete(mr));
  }

  /** Closes it at once, and ends the use of the device. */
  close(): void {
    this.#isClosed = true;
    this.link.close(closedError());
    // A part that could not be closed is tried again at the next call.
    using stack = new DisposableStack();
    for (const part of this.#parts) stack.use(part);
  }

  /** The device is not in use any more when connecting has failed. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#peer !== undefined) return;
    this.close();
    await this.link.ended;
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
  ends: TcpEnds | undefined,
): number | undefined {
  if (gidIndex !== undefined) return chosenGid(context, port, gidIndex).gidIndex;
  if (!needsGrh(context.queryPort(port))) return undefined;
  const known = ends && gidOfTcp(context.gidTable(port), port, ends);
  return (known ?? context.recommendGid(port)).gidIndex;
}

/** The address of the peer of an id, which has told the rest of itself. */
function addressOf(id: CmId, offer: RcOffer): RcAddress {
  const { ahAttr, destQpNum, rqPsn, pathMtu } = id.initQpAttr(QpState.RTR);
  const { maxRdAtomic } = id.initQpAttr(QpState.RTS);
  const [gid, lid] = [ahAttr!.grh!.dgid.toString(), ahAttr!.dlid!];
  const numbers = { qpn: destQpNum!, psn: rqPsn!, mtu: mtuBytes(pathMtu!), rdAtomic: maxRdAtomic! };
  return { transport: "RC", gid, lid, ...numbers, ...offer };
}
