/**
 * Connections by name between two processes of this program. It reads lines "ROUND COUNT PARTS" and answers each with
 * nanoseconds of one operation. The line "serve" makes it the server of the other one.
 */

import { type CmEvent, CmEventType, CmId, EventChannel } from "../../../cm.ts";
import { CompletionQueue, Context, ProtectionDomain, QpType, QueuePair } from "../../../mod.ts";
import { connectRc, listenRc, type RcConn } from "../../../net/mod.ts";
import { middlePart, type Plan } from "../../deno/clock.ts";
import { linesOf } from "../../process.ts";

/** The address of the device. */
export const ADDRESS = "10.0.0.1";
const [ID_PORT, NET_PORT, TCP_PORT] = [18701, 18702, 18703];
const SIZE = 64;

/** Queue pairs as cmtime makes them: they share all but themselves. */
class QueuePairs {
  readonly #pd: ProtectionDomain;
  readonly #cq: CompletionQueue;

  constructor() {
    const context = Context.open();
    this.#pd = new ProtectionDomain(context);
    this.#cq = new CompletionQueue(context, { cqe: 1, channel: null });
  }

  make(): QueuePair {
    const [sendCq, recvCq, cap] = [this.#cq, this.#cq, { maxSendWr: 1, maxRecvWr: 1 }];
    return new QueuePair(this.#pd, { type: QpType.RC, sendCq, recvCq, cap });
  }
}

async function serve(): Promise<void> {
  const channel = new EventChannel();
  const listener = new CmId(channel);
  listener.bindAddr({ hostname: ADDRESS, port: ID_PORT });
  listener.listen();
  void accept(channel);
  void echo(await listenRc({ hostname: ADDRESS, port: NET_PORT }), answer);
  void echo(Deno.listen({ hostname: ADDRESS, port: TCP_PORT }), answerTcp);
  console.log("ready");
}

async function accept(channel: EventChannel): Promise<void> {
  const queuePairs = new QueuePairs();
  for await (const event of channel) {
    if (event.type === CmEventType.CONNECT_REQUEST) void hold(event, queuePairs.make());
  }
}

async function hold({ id }: CmEvent, queuePair: QueuePair): Promise<void> {
  using _id = id;
  using qp = queuePair;
  await id.accept(qp);
  await id.disconnected();
}

async function echo<T>(
  listener: AsyncIterable<T>,
  answer: (peer: T) => Promise<void>,
): Promise<void> {
  for await (const peer of listener) void answer(peer);
}

async function answer(peer: RcConn): Promise<void> {
  for await (const message of peer) await peer.send(message);
}

async function answerTcp(peer: Deno.TcpConn): Promise<void> {
  peer.setNoDelay();
  await peer.readable.pipeTo(peer.writable);
}

let queuePairs: QueuePairs | undefined;

/** So many connections at the same time, from the call of connect() until all are established. */
async function connect({ count }: Plan): Promise<number> {
  using stack = new DisposableStack();
  const channel = stack.use(new EventChannel());
  const ends = await Promise.all(Array.from({ length: count }, async () => {
    const id = new CmId(channel);
    await id.resolveAddr({ hostname: ADDRESS, port: ID_PORT });
    await id.resolveRoute();
    const qp = stack.use((queuePairs ??= new QueuePairs()).make());
    // cmtime has prepared its queue pairs as well: rdma_create_qp() does it.
    id.prepare(qp);
    return { id, qp };
  }));
  const start = performance.now();
  await Promise.all(ends.map(async ({ id, qp }) => {
    await id.connect(qp);
    id.establish();
  }));
  const taken = performance.now() - start;
  await Promise.all(ends.map(({ id }) => id.disconnect()));
  return taken * 1e6 / count;
}

let net: RcConn | undefined;

/** A message to the server and its answer. */
async function call(plan: Plan): Promise<number> {
  const server = net ??= await connectRc({ hostname: ADDRESS, port: NET_PORT });
  const message = new Uint8Array(SIZE);
  return await middlePart(plan, async (count) => {
    for (let i = 0; i < count; i++) {
      await server.send(message);
      if ((await server.receive())?.length !== SIZE) throw new Error("Cannot measure: no answer");
    }
  });
}

let tcp: Deno.TcpConn | undefined;

async function callTcp(plan: Plan): Promise<number> {
  const server = tcp ??= await Deno.connect({ hostname: ADDRESS, port: TCP_PORT });
  server.setNoDelay();
  const [message, room] = [new Uint8Array(SIZE), new Uint8Array(SIZE)];
  return await middlePart(plan, async (count) => {
    for (let i = 0; i < count; i++) {
      await server.write(message);
      for (let got = 0; got < SIZE;) got += (await server.read(room))!;
    }
  });
}

const ROUNDS: Readonly<Record<string, (plan: Plan) => Promise<number>>> = {
  connect,
  call,
  call_tcp: callTcp,
};

if (import.meta.main) {
  for await (const line of linesOf(Deno.stdin.readable)) {
    const [round, count, parts] = line.split(" ") as [string, string, string];
    if (round === "serve") await serve();
    else console.log(await ROUNDS[round]!({ count: Number(count), parts: Number(parts) }));
  }
}
