import { quote } from "../../internal/checks.ts";
import { nextTurn } from "../../wait/turns.ts";
import type { Acceptor, ConnectRequest } from "./acceptor.ts";
import { withLimit } from "./limits.ts";
import type { Attempt } from "./attempt.ts";
import { checkOwn, checkStated, endsOf, type FoundEnds } from "./peer_gid.ts";
import { type RcAddress, readLine, readRcAddress, writeAddress } from "./rc_address.ts";
import { SharedDevice } from "./rc_device.ts";
import { RcEnd } from "./rc_end.ts";
import type { RcSettings } from "./rc_options.ts";

/** A TCP port over which peers exchange addresses. */
export class TcpAcceptor implements Acceptor {
  readonly #listener: Deno.TcpListener;
  readonly #settings: RcSettings;
  readonly #device: SharedDevice;

  constructor(address: { hostname: string; port: number }, settings: RcSettings) {
    this.#listener = listen(address);
    this.#settings = settings;
    this.#device = new SharedDevice(settings);
  }

  get addr(): Deno.NetAddr {
    return this.#listener.addr;
  }

  get connections(): number {
    return this.#device.users;
  }

  async accept(): Promise<ConnectRequest> {
    try {
      return new TcpRequest(await this.#listener.accept(), this.#settings, this.#device);
    } catch (error) {
      throw withLimit("accept", error);
    }
  }

  ref(): void {
    this.#listener.ref();
  }

  unref(): void {
    this.#listener.unref();
  }

  close(): void {
    this.#listener.close();
  }
}

/** Listens. The error of Deno does not name the port. */
function listen(address: { hostname: string; port: number }): Deno.TcpListener {
  try {
    return Deno.listen(address);
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    const { hostname, port } = address;
    const reason = `another program uses TCP port ${port} of ${quote(hostname)}`;
    throw new Deno.errors.AddrInUse(`Cannot listen: ${reason}; tcpPort 0 lets the system choose`);
  }
}

class TcpRequest implements ConnectRequest {
  readonly #tcp: Deno.TcpConn;
  readonly #settings: RcSettings;
  readonly #device: SharedDevice;
  #peer: RcAddress | undefined;
  /** Whether its GID has to be one of this host. */
  #mustBeOwn = false;
  #ends: FoundEnds | undefined;

  constructor(tcp: Deno.TcpConn, settings: RcSettings, device: SharedDevice) {
    this.#tcp = tcp;
    this.#settings = settings;
    this.#device = device;
  }

  get hostname(): string {
    return this.#tcp.remoteAddr.hostname;
  }

  async read(signal: AbortSignal): Promise<void> {
    const peer = this.#peer = readRcAddress(await readLine(this.#tcp, signal));
    const ends = this.#ends = endsOf(this.#tcp);
    this.#mustBeOwn = checkStated(peer, ends, this.#settings.peerGid);
  }

  /** The first step opens the device, and the last one makes queues: the event loop runs between them. */
  async makeEnd(): Promise<RcEnd> {
    const { portNum } = this.#settings;
    using stack = new DisposableStack();
    const device = stack.use(this.#device.use());
    const { context } = device;
    if (this.#mustBeOwn) checkOwn(this.#peer!, this.#ends!, context.queryGidTable(portNum));
    await nextTurn();
    stack.move();
    return await RcEnd.make(device, this.#settings, this.#ends);
  }

  async connect(end: RcEnd, attempt: Attempt): Promise<RcEnd> {
    const answer = (): Promise<void> => writeAddress(this.#tcp, end.address, attempt.signal);
    return await end.connect(this.#peer!, attempt, { untrusted: true, answer });
  }

  close(): void {
    this.#tcp.close();
  }

  /** The TCP connection ends once they are connected. */
  [Symbol.dispose](): void {
    this.#tcp[Symbol.dispose]();
  }
}
