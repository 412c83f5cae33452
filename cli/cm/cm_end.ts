/** How the two ends of rping and udaddy find each other: by address, with librdmacm. */

import {
  type AddrInfo,
  AddrInfoFlags,
  type CmEvent,
  CmEventType,
  CmId,
  EventChannel,
  getAddrInfo,
  type PortSpace,
  type SocketAddress,
} from "@rdma/ibverbs/cm";
import {
  CompletionQueue,
  Context,
  MemoryRegion,
  ProtectionDomain,
  type QpType,
  QueuePair,
  WcStatus,
  type WorkCompletion,
} from "@rdma/ibverbs";
import { MAX_SECONDS } from "../peer/options.ts";
import { Deadline } from "../shell/abort.ts";
import { CommandError, number, type Option, UsageError } from "../shell/command.ts";

// getaddrinfo(3) of Linux.
const AF_INET = 2;
const AF_INET6 = 10;

/** The port of rping and udaddy. */
const PORT = 7174;
const PATIENCE = 10;

interface EndOptions {
  readonly port: Option<number>;
  readonly timeout: Option<number>;
}

export const CM_OPTIONS: EndOptions = {
  port: number("PORT", `port of the server (default ${PORT})`, [1, 65535], "p"),
  timeout: number("SECONDS", `how long the peer may be silent (default ${PATIENCE})`, [
    1,
    MAX_SECONDS,
  ]),
};

/** Where the peer is, and how long it may be silent. */
export interface Where {
  /** The server. It is undefined for a server. */
  readonly host: string | undefined;
  readonly port: number;
  /** In seconds. */
  readonly timeout: number;
}

export function readWhere(
  values: { readonly port?: number | undefined; readonly timeout?: number | undefined },
  operands: readonly string[],
  ofClient: readonly string[],
): Where {
  if (operands.length > 1) throw new UsageError("there is one host at most");
  const given = ofClient.find((name) => Object.hasOwn(values, name));
  if (given !== undefined && operands.length === 0) {
    throw new UsageError(`--${given} is for the client, and this is a server: there is no HOST`);
  }
  const { port = PORT, timeout = PATIENCE } = values;
  return { host: operands[0], port, timeout };
}

/** What an end needs for its messages. */
export interface Needs {
  readonly portSpace: PortSpace;
  readonly qpType: typeof QpType.RC | typeof QpType.UD;
  /** The size of its memory in bytes, and who may use it. */
  readonly bytes: number;
  readonly access: number;
  /** Sends, and receives, that are posted at once. */
  readonly depth: number;
}

/** One end: an id that knows its peer, and a queue pair that is ready for receives. */
export class CmEnd implements Disposable {
  readonly id: CmId;
  readonly pd: ProtectionDomain;
  readonly qp: QueuePair;
  readonly mr: MemoryRegion;
  readonly #sendCq: CompletionQueue;
  readonly #recvCq: CompletionQueue;
  readonly #deadline: Deadline;
  readonly #owned: DisposableStack;

  constructor(id: CmId, { qpType, bytes, access, depth }: Needs, timeout: number) {
    using stack = new DisposableStack();
    this.id = id;
    const context = stack.use(Context.open(id.device!.name));
    this.pd = stack.use(new ProtectionDomain(context));
    this.#sendCq = stack.use(new CompletionQueue(context, { cqe: depth }));
    this.#recvCq = stack.use(new CompletionQueue(context, { cqe: depth }));
    this.mr = stack.use(new MemoryRegion(this.pd, bytes, access));
    const cqs = { sendCq: this.#sendCq, recvCq: this.#recvCq };
    const cap = { maxSendWr: depth, maxRecvWr: depth };
    this.qp = stack.use(new QueuePair(this.pd, { qpType, ...cqs, cap }));
    id.prepare(this.qp);
    this.#deadline = stack.use(new Deadline(timeout, () => "The peer sent nothing"));
    this.#owned = stack.move();
  }

  /** Aborts when the peer is silent for too long. */
  get signal(): AbortSignal {
    return this.#deadline.signal;
  }

  /** Waits until sends have completed. */
  async sent(count = 1): Promise<void> {
    for (let i = 0; i < count; i++) (await this.#next(this.#sendCq)).check();
  }

  /** Waits for a message. It is undefined if the connection has ended. */
  async received(): Promise<WorkCompletion | undefined> {
    const completion = await this.#next(this.#recvCq);
    if (completion.status === WcStatus.WR_FLUSH_ERR) return undefined;
    return completion.check();
  }

  async #next(cq: CompletionQueue): Promise<WorkCompletion> {
    for await (const completion of cq.completions({ signal: this.signal })) {
      this.#deadline.extend();
      return completion;
    }
    throw new CommandError("the completions have ended");
  }

  [Symbol.dispose](): void {
    this.#owned.dispose();
  }
}

/** Finds the route to a host, and runs a client that connects to it. */
export async function asClient<T>(
  { host, port, timeout }: Where,
  needs: Needs,
  run: (end: CmEnd) => Promise<T>,
): Promise<T> {
  using channel = new EventChannel();
  using id = await routeTo(channel, needs.portSpace, host!, port, timeout);
  using end = new CmEnd(id, needs, timeout);
  return await run(end);
}

/** Waits for a client without a time limit, at all addresses of this host, and serves it. */
export async function asServer<T>(
  { port, timeout }: Where,
  needs: Needs,
  run: (end: CmEnd) => Promise<T>,
): Promise<T> {
  using channel = new EventChannel();
  using listener = new CmId(channel, needs.portSpace);
  listener.bindAddr({ hostname: "::", port });
  listener.listen();
  const { id } = await requestOf(channel);
  using _id = id;
  using end = new CmEnd(id, needs, timeout);
  return await run(end);
}

async function requestOf(channel: EventChannel): Promise<CmEvent> {
  for await (const event of channel) {
    if (event.event === CmEventType.CONNECT_REQUEST) return event;
  }
  throw new CommandError("the event channel has ended");
}

/** An id with the route to the first address of a host to which an RDMA device leads. */
async function routeTo(
  channel: EventChannel,
  portSpace: PortSpace,
  host: string,
  port: number,
  timeout: number,
): Promise<CmId> {
  const hints = { portSpace, flags: AddrInfoFlags.NOROUTE | AddrInfoFlags.FAMILY };
  const lookUp = (family = 0): Promise<AddrInfo[]> =>
    getAddrInfo(host, `${port}`, { ...hints, family });
  let failure: unknown;
  for await (const address of addressesOf(lookUp)) {
    const id = new CmId(channel, portSpace);
    try {
      await resolve(id, address, timeout);
      return id;
    } catch (error) {
      id.close();
      failure = error;
    }
  }
  throw failure;
}

/**
 * An address of the family that the system prefers, then one of the other family: `rdma_getaddrinfo` returns only one.
 */
async function* addressesOf(
  lookUp: (family?: number) => Promise<AddrInfo[]>,
): AsyncGenerator<SocketAddress> {
  const [preferred] = await lookUp();
  yield preferred!.dstAddr!;
  const family = preferred!.family === AF_INET ? AF_INET6 : AF_INET;
  const [other] = await lookUp(family).catch(() => []);
  if (other !== undefined) yield other.dstAddr!;
}

async function resolve(id: CmId, address: SocketAddress, seconds: number): Promise<void> {
  const timeout = seconds * 1000;
  await id.resolveAddr(address, { timeout });
  await id.resolveRoute({ timeout });
}
