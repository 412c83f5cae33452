import { type CmEvent, CmEventType, CmId, EventChannel, type SocketAddress } from "../../cm.ts";
import { partOf } from "../../internal/left_open.ts";
import { nextTurn } from "../../wait/turns.ts";
import { assertMessages, lookUp } from "./by_address.ts";
import { addressOf, endsOfId } from "./cm_address.ts";
import { bind } from "../shared/bind.ts";
import type { Acceptor, ConnectRequest } from "./acceptor.ts";
import { ANSWERED, type Attempt } from "./attempt.ts";
import { checkOwn, checkStated } from "./peer_gid.ts";
import { type RcAddress, readOffer } from "./rc_address.ts";
import { SharedDevice } from "./rc_device.ts";
import { RcEnd } from "./rc_end.ts";
import type { RcSettings } from "./rc_options.ts";

/** A port of the RDMA communication manager. */
export class CmAcceptor implements Acceptor {
  readonly #channel: EventChannel;
  readonly #listener: CmId;
  readonly #settings: RcSettings;
  /** The devices that requests come over, by name and port. */
  readonly #devices: Map<string, SharedDevice> = new Map();

  static async open(
    hostname: string | undefined,
    port: number,
    settings: RcSettings,
  ): Promise<CmAcceptor> {
    // IPv6 takes IPv4 as well.
    const address = hostname === undefined
      ? { hostname: "::", port }
      : await lookUp(hostname, port, settings.signal);
    return new CmAcceptor(address, settings);
  }

  constructor(address: SocketAddress, settings: RcSettings) {
    using stack = new DisposableStack();
    this.#channel = stack.use(partOf(new EventChannel()));
    this.#listener = new CmId(this.#channel);
    bind(this.#listener, address);
    assertOwnAddress(this.#listener);
    this.#listener.listen();
    this.#settings = settings;
    stack.move();
  }

  get addr(): SocketAddress {
    return this.#listener.localAddr!;
  }

  get connections(): number {
    return this.#devices.values().reduce((sum, { users }) => sum + users, 0);
  }

  async accept(): Promise<ConnectRequest> {
    for await (const event of this.#channel) {
      const { event: type, id } = event;
      if (type === CmEventType.CONNECT_REQUEST) {
        return new CmRequest(event, this.#settings, this.#deviceOf(id));
      }
      if (id === this.#listener && type === CmEventType.DEVICE_REMOVAL) break;
    }
    throw new Deno.errors.BadResource("Cannot accept: the device is gone");
  }

  #deviceOf({ device, portNum }: CmId): SharedDevice {
    const { name } = device!;
    const key = `${name} ${portNum}`;
    const shared = this.#devices.get(key) ??
      new SharedDevice({ ...this.#settings, device: name, portNum });
    this.#devices.set(key, shared);
    return shared;
  }

  ref(): void {
    this.#channel.ref();
  }

  unref(): void {
    this.#channel.unref();
  }

  close(): void {
    this.#channel.close();
  }
}

/** The addresses that stand for all of this host. */
const ALL: readonly string[] = ["0.0.0.0", "::"];

/**
 * Checks that an id is bound to the requested address. The kernel treats a loopback address as all addresses.
 *
 * @throws {Deno.errors.AddrNotAvailable} If peers of other networks would reach it too.
 */
function assertOwnAddress({ device, localAddr }: CmId): void {
  const { hostname } = localAddr!;
  if (device !== undefined || ALL.includes(hostname)) return;
  throw new Deno.errors.AddrNotAvailable(
    `Cannot listen on ${hostname}: it is a loopback address, which the system takes for all addresses, so that ` +
      "a listener there takes peers of all networks. Leave hostname out, or use tcpPort",
  );
}

class CmRequest implements ConnectRequest {
  readonly hostname: string;
  readonly #id: CmId;
  readonly #channel: EventChannel;
  readonly #data: Uint8Array;
  readonly #settings: RcSettings;
  readonly #device: SharedDevice;
  #peer: RcAddress | undefined;
  /** Whether its GID has to be one of this host. */
  #mustBeOwn = false;
  #isConnected = false;

  /** The connection gets a channel of its own, because it may outlive the listener. */
  constructor({ id, conn }: CmEvent, settings: RcSettings, device: SharedDevice) {
    using stack = new DisposableStack();
    stack.use(id);
    this.#channel = stack.use(partOf(new EventChannel()));
    id.migrate(this.#channel);
    this.#id = id;
    this.hostname = id.peerAddr!.hostname;
    this.#data = conn!.privateData;
    this.#settings = settings;
    this.#device = device;
    stack.move();
  }

  /** The request states the GID, and so does the address of its sender. */
  async read(signal: AbortSignal): Promise<void> {
    const offer = readOffer(this.#data);
    assertMessages(this.#id);
    const peer = this.#peer = await addressOf(this.#id, offer, signal);
    this.#mustBeOwn = checkStated(peer, endsOfId(this.#id));
  }

  async makeEnd(): Promise<RcEnd> {
    using stack = new DisposableStack();
    const device = stack.use(this.#device.use());
    if (this.#mustBeOwn) {
      const id = this.#id;
      checkOwn(this.#peer!, endsOfId(id), device.context.queryGidTable(id.portNum));
    }
    await nextTurn();
    stack.move();
    return await RcEnd.make(device, this.#settings, this.#id);
  }

  async connect(end: RcEnd, attempt: Attempt): Promise<RcEnd> {
    attempt.step = ANSWERED;
    const connected = await end.acceptById(this.#peer!, attempt.signal);
    this.#isConnected = true;
    return connected;
  }

  /** The kernel rejects a request whose id is closed, as it is with its channel. */
  close(): void {
    this.#channel.close();
  }

  [Symbol.dispose](): void {
    if (!this.#isConnected) this.close();
  }
}
