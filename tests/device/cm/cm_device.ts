// What the tests of connections share: ids on one channel, and queue pairs of the device they lead to.

import {
  type CmEvent,
  CmEventType,
  CmId,
  EventChannel,
  type PortSpace,
  type SocketAddress,
} from "../../../cm.ts";
import { bindRdmacm } from "../../../ffi/rdmacm.ts";
import { QpType } from "../../../mod.ts";
import { OpenDevice, RXE } from "../setup.ts";

/** The number of this host, if there are two. */
const HOST = Deno.env.get("IBVERBS_HOST") ?? "1";
/** The addresses of the device. */
export const HOSTS = { IPv4: `10.0.0.${HOST}`, IPv6: `fd00::${HOST}` } as const;

// librdmacm stays open, and keeps the device open.
bindRdmacm();
openDevice();

function openDevice(): void {
  using channel = new EventChannel();
  new CmId(channel).bindAddr({ hostname: HOSTS.IPv4, port: 0 });
}

/** The device, with a channel. Disposing it closes both. */
export class CmDevice extends OpenDevice {
  readonly channel: EventChannel = new EventChannel();

  constructor() {
    super(RXE);
  }

  /** An id that listens at a port that the system chooses. */
  listener(portSpace?: PortSpace, hostname: string = HOSTS.IPv4): CmId {
    const id = new CmId(this.channel, portSpace);
    id.bindAddr({ hostname, port: 0 });
    id.listen();
    return id;
  }

  /** An id that knows the route to another one, or to an address. */
  async routed(to: CmId | SocketAddress, portSpace?: PortSpace): Promise<CmId> {
    const id = new CmId(this.channel, portSpace);
    await id.resolveAddr(to instanceof CmId ? to.localAddr! : to, { timeout: 10_000 });
    await id.resolveRoute({ timeout: 10_000 });
    return id;
  }

  /** The next request to an id of the channel. */
  async request(): Promise<CmEvent> {
    for await (const event of this.channel) {
      if (event.event === CmEventType.CONNECT_REQUEST) return event;
    }
    throw new Error("Cannot wait: the channel has ended");
  }

  /** Both ends of a new connection. */
  async connected(listener: CmId): Promise<{ client: CmId; server: CmId }> {
    const client = await this.routed(listener);
    const connected = client.connect(this.newQp(QpType.RC));
    const { id: server } = await this.request();
    const accepted = server.accept(this.newQp(QpType.RC));
    await connected;
    await client.establish();
    await accepted;
    return { client, server };
  }

  override [Symbol.dispose](): void {
    this.channel.close();
    super[Symbol.dispose]();
  }
}

/** Bytes of a text. */
export function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
