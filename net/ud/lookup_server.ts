import { CmEventType, CmId, EventChannel, PortSpace } from "../../cm.ts";
import { partOf } from "../../internal/left_open.ts";
import { bind } from "../shared/bind.ts";
import { mayContinue, nextTurn } from "../../wait/turns.ts";
import { writeAnswer } from "./lookup_answer.ts";

/** The socket that peers look for. */
export interface Found {
  readonly device: string;
  readonly portNum: number;
  readonly qpNum: number;
  readonly maxMessage: number;
}

/** The most requests that wait to be answered. The system refuses the others. */
const BACKLOG = 128;

/**
 * Answers peers that look up a socket by address, with the number of its queue pair. It keeps nothing about them,
 * and does not keep the program alive.
 */
export class LookupServer implements Disposable {
  /** Resolves when it has ended. */
  ended: Promise<void> = Promise.resolve();
  readonly #channel: EventChannel;
  readonly #listener: CmId;

  /** Listens at a port, at all addresses of RDMA devices. Requests wait until it serves. */
  constructor(port: number) {
    using stack = new DisposableStack();
    this.#channel = stack.use(partOf(new EventChannel()));
    this.#channel.unref();
    this.#listener = new CmId(this.#channel, PortSpace.UDP);
    // IPv6 takes IPv4 as well.
    bind(this.#listener, { hostname: "::", port });
    this.#listener.listen(BACKLOG);
    stack.move();
  }

  get port(): number {
    return this.#listener.srcPort;
  }

  /** Begins to answer. */
  serve(found: Found): void {
    this.ended = this.#answerAll(found);
  }

  async #answerAll(found: Found): Promise<void> {
    const privateData = writeAnswer(found.maxMessage);
    try {
      for await (const { event, id } of this.#channel) {
        if (event === CmEventType.CONNECT_REQUEST) await answer(id, found, privateData);
        if (!mayContinue()) await nextTurn();
      }
    } catch {
      // The device is gone, and the socket fails too.
    }
  }

  [Symbol.dispose](): void {
    this.#channel.close();
  }
}

/** Answers one request. The system refuses one whose id is closed. */
async function answer(
  id: CmId,
  { device, portNum, qpNum }: Found,
  privateData: Uint8Array,
): Promise<void> {
  try {
    using _id = id;
    if (id.device?.name === device && id.portNum === portNum) {
      await id.accept(qpNum, { privateData });
    }
  } catch {
    // Its sender has given up, or is gone: the next one is served.
  }
}
