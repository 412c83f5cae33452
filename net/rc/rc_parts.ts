import {
  AccessFlags,
  AddressHandle,
  CompletionChannel,
  CompletionQueue,
  Context,
  Gid,
  LinkLayer,
  MemoryRegion,
  PortFlags,
  ProtectionDomain,
  QpType,
  QueuePair,
} from "../../mod.ts";
import { chosenGid } from "../shared/chosen_gid.ts";
import { type RcAddress, toQpAddress } from "./rc_address.ts";
import type { RcSettings } from "./rc_options.ts";

/** Receives for messages that need no credit: HELLO, END or BYE, and two messages of credits. */
export const CONTROL_RECEIVES = 5;
/** Requests for such messages, and for the check that the peer is there. */
export const CONTROL_SENDS = 8;

const { LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC } = AccessFlags;

/** The rights of a peer on memory that is shared with it. */
export const REMOTE_ACCESS = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;

/** The verbs objects of one end. Closing the context disposes them all. */
export class RcParts implements Disposable {
  /** The settings they were made with. */
  readonly settings: RcSettings;
  /** The device, which nobody else uses. */
  readonly context: Context;
  /** The domain of all memory. */
  readonly pd: ProtectionDomain;
  /** Where sends and receives complete. */
  readonly cq: CompletionQueue;
  /** The queue pair: in INIT first. */
  readonly qp: QueuePair;
  /** `sendDepth` slots of `maxMessage` bytes. */
  readonly sendMemory: MemoryRegion;
  /** A slot for each receive. */
  readonly recvMemory: MemoryRegion;
  readonly #gidIndex: number | undefined;

  /** Makes them. */
  constructor(settings: RcSettings) {
    using stack = new DisposableStack();
    const { device, port, credits, sendDepth, maxMessage } = settings;
    const context = stack.use(Context.open(device));
    const [maxSendWr, maxRecvWr] = [sendDepth + CONTROL_SENDS, credits + CONTROL_RECEIVES];
    this.settings = settings;
    this.context = context;
    if (settings.gidIndex !== undefined) chosenGid(context, port, settings.gidIndex);
    this.#gidIndex = settings.gidIndex ?? recommendedGid(context, port);
    this.pd = new ProtectionDomain(context);
    const channel = new CompletionChannel(context);
    const cq = new CompletionQueue(context, { cqe: maxSendWr + maxRecvWr, channel });
    this.cq = cq;
    const cap = { maxSendWr, maxRecvWr };
    this.qp = new QueuePair(this.pd, { type: QpType.RC, sendCq: cq, recvCq: cq, cap });
    this.sendMemory = new MemoryRegion(this.pd, sendDepth * maxMessage, LOCAL_WRITE);
    this.recvMemory = new MemoryRegion(this.pd, maxRecvWr * maxMessage, LOCAL_WRITE);
    this.qp.init({
      port,
      ...(this.#gidIndex !== undefined && { gidIndex: this.#gidIndex }),
      // Without an rkey a peer can do nothing with these rights.
      qpAccessFlags: REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC,
    });
    stack.move();
  }

  /** What the peer needs. */
  get address(): RcAddress {
    const { qpn, psn, lid, gid, mtu, rdAtomic } = this.qp.address;
    const { credits, maxMessage } = this.settings;
    return {
      transport: "rc",
      gid: gid ?? "::",
      lid,
      qpn,
      psn,
      mtu,
      rdAtomic,
      credits,
      maxMessage,
    };
  }

  /**
   * Connects the queue pair. The kernel resolves the link address of the peer when the queue pair is modified, and blocks
   * until then. Making an address handle on another thread resolves it before.
   */
  async activate(peer: RcAddress, signal: AbortSignal): Promise<void> {
    const { port, timeout, retryCnt } = this.settings;
    if (this.#gidIndex !== undefined) {
      const grh = { dgid: Gid.parse(peer.gid), sgidIndex: this.#gidIndex, hopLimit: 64 };
      const attr = { portNum: port, dlid: peer.lid, grh };
      using _ah = await AddressHandle.create(this.pd, attr, { signal });
    }
    // A peer that has fewer receives than it says must not keep sends waiting for ever.
    this.qp.activateRc(toQpAddress(peer), { timeout, retryCnt, rnrRetry: 6, minRnrTimer: 14 });
  }

  /** Disposes them. */
  [Symbol.dispose](): void {
    this.context.close();
  }
}

/** The index of the GID to use; undefined if the port needs none and has none. */
function recommendedGid(context: Context, port: number): number | undefined {
  const { linkLayer, flags } = context.queryPort(port);
  const needsGrh = linkLayer === LinkLayer.ETHERNET || (flags & PortFlags.GRH_REQUIRED) !== 0;
  return needsGrh ? context.recommendGid(port).gidIndex : undefined;
}
