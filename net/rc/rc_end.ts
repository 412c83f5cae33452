import { Link } from "./link.ts";
import type { TcpEnds } from "./peer_gid.ts";
import type { RcAddress } from "./rc_address.ts";
import type { RcDevice, Use } from "./rc_device.ts";
import type { RcSettings } from "./rc_options.ts";
import { RcParts } from "./rc_parts.ts";

/** One end of a connection. Until it is connected, leaving its scope closes it. */
export class RcEnd implements AsyncDisposable {
  /** The verbs objects. */
  readonly parts: RcParts;
  /** What moves messages between the ends. */
  readonly link: Link;
  /** What the peer needs. */
  readonly address: RcAddress;
  #peer: RcAddress | undefined;

  /** Makes an end, which ends the use of the device when it is closed. */
  static async make(use: Use<RcDevice>, settings: RcSettings, ends?: TcpEnds): Promise<RcEnd> {
    using stack = new DisposableStack();
    const parts = stack.use(await RcParts.make(use, settings, ends));
    const end = new RcEnd(parts);
    stack.move();
    return end;
  }

  private constructor(parts: RcParts) {
    this.parts = parts;
    this.address = parts.address;
    this.link = new Link(parts);
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
    const { parts, link } = this;
    await parts.activate(peer, signal);
    signal.throwIfAborted();
    await link.connect(peer.credits, signal, answer);
    this.#peer = peer;
    return this;
  }

  /** Closes it at once. */
  close(): void {
    this.link.close(closedError());
    this.parts[Symbol.dispose]();
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
