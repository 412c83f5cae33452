/** Sends and writes of reliable connections. Completions are awaited. */

import {
  AccessFlags,
  CompletionQueue,
  MemoryRegion,
  type ProtectionDomain,
  QpType,
  QueuePair,
  RecvRequests,
  SendRequests,
  type WorkCompletion,
  WrOpcode,
} from "../../../mod.ts";
import { isMessage, SIZE, WORDS, writeMessage } from "./ledger.ts";
import { paced, PATIENCE_MS, PORT, type Run } from "./run.ts";

/** Sends of a list, and as many writes. */
const HALF = 16;
const LIST = 2 * HALF;
/** The connection is made anew after so many lists. */
const LIFETIME = 50;

/** Sends and writes until the run is over. */
export async function exchangeConnected(run: Run, rate: number): Promise<void> {
  let connection = new Connection(run);
  let rounds = 0;
  await paced(rate, LIST, run.stop, async () => {
    const isWhole = await connection.round();
    if (isWhole && ++rounds % LIFETIME !== 0) return;
    connection.dispose();
    connection = new Connection(run);
  });
  connection.dispose();
}

/** One end. */
interface End {
  readonly cq: CompletionQueue;
  readonly qp: QueuePair;
  readonly mr: MemoryRegion;
  readonly words: Uint32Array;
}

/** Makes an end with room for two lists: one to send from, one to receive into. */
export function makeEnd(pd: ProtectionDomain, stack: DisposableStack): End {
  const cq = stack.use(new CompletionQueue(pd.context, { cqe: 2 * LIST }));
  const cap = { maxSendWr: LIST, maxRecvWr: LIST };
  const qp = stack.use(new QueuePair(pd, { type: QpType.RC, sendCq: cq, recvCq: cq, cap }));
  const access = AccessFlags.LOCAL_WRITE | AccessFlags.REMOTE_WRITE;
  const mr = stack.use(new MemoryRegion(pd, 2 * LIST * SIZE, access));
  const bytes = mr.bytes();
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  return { cq, qp, mr, words };
}

/** Connects two ends of one device. */
export function connect(left: QueuePair, right: QueuePair, gidIndex: number): void {
  for (const qp of [left, right]) {
    qp.init({ port: PORT, gidIndex, qpAccessFlags: AccessFlags.REMOTE_WRITE });
  }
  left.activateRc(right.address);
  right.activateRc(left.address);
}

/** Two ends. The left one sends and writes. */
class Connection {
  readonly #run: Run;
  readonly #stack = new DisposableStack();
  readonly #left: End;
  readonly #right: End;
  readonly #requests = new SendRequests({ capacity: LIST });
  readonly #recvs = new RecvRequests({ capacity: HALF });
  readonly #numbers: number[] = [];

  constructor(run: Run) {
    this.#run = run;
    this.#left = makeEnd(run.pd, this.#stack);
    this.#right = makeEnd(run.pd, this.#stack);
    connect(this.#left.qp, this.#right.qp, run.gids[0]!.gidIndex);
    const { addr, rkey } = this.#right.mr;
    for (let i = 0; i < LIST; i++) {
      const request = { wrId: i, sge: this.#left.mr.slice(i * SIZE, SIZE) };
      const remoteAddr = addr + BigInt(i * SIZE);
      this.#requests.set(
        i,
        i < HALF ? request : { ...request, opcode: WrOpcode.RDMA_WRITE, remoteAddr, rkey },
      );
    }
    for (let i = 0; i < HALF; i++) {
      this.#recvs.set(i, { wrId: i, sge: this.#right.mr.slice((LIST + i) * SIZE, SIZE) });
    }
    run.count("queuePairs", 2);
  }

  /** Sends a list. The result is false if a request failed or did not complete. */
  async round(): Promise<boolean> {
    const { ledger } = this.#run;
    this.#right.qp.postRecv(this.#recvs);
    for (let i = 0; i < LIST; i++) {
      this.#numbers[i] = ledger.send();
      writeMessage(this.#left.words, i * WORDS, this.#numbers[i]!);
    }
    this.#left.qp.postSend(this.#requests, LIST);
    const outcomes = await Promise.all([
      collect(this.#left.cq, LIST, (wc) => this.#complete(wc)),
      collect(this.#right.cq, HALF, (wc) => this.#deliver(wc.status === 0, LIST + Number(wc.wrId))),
    ]);
    const isWhole = outcomes.every((all) => all);
    for (const number of this.#numbers) ledger.giveUp(number);
    return isWhole;
  }

  /** A write is delivered when it completes: then the memory of the peer has its bytes. */
  #complete(wc: WorkCompletion): boolean {
    const place = Number(wc.wrId);
    if (wc.status !== 0) this.#run.ledger.refuse(this.#numbers[place]!);
    else if (place >= HALF) this.#deliver(true, place);
    return wc.status === 0;
  }

  #deliver(isGood: boolean, place: number): boolean {
    const { words } = this.#right;
    if (!isGood) return false;
    this.#run.ledger.deliver(words[place * WORDS]!, isMessage(words, place * WORDS));
    this.#run.count(place < LIST ? "writes" : "sends");
    return true;
  }

  dispose(): void {
    this.#stack.dispose();
  }
}

/** Waits for so many completions. The result is false if one is an error or they do not come. */
async function collect(
  cq: CompletionQueue,
  count: number,
  use: (wc: WorkCompletion) => boolean,
): Promise<boolean> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), PATIENCE_MS);
  let isGood = true;
  try {
    for await (const wc of cq.completions({ signal: deadline.signal })) {
      isGood = use(wc) && isGood;
      if (--count === 0) return isGood;
    }
  } catch (error) {
    if (!deadline.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
  }
  return false;
}
