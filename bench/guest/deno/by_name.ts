/**
 * Connections by name between two processes of this program. It reads lines "connect COUNT PARTS" and answers each with
 * nanoseconds of one connection. The line "serve" makes it the server of the other one.
 */

import { type CmEvent, CmEventType, CmId, EventChannel } from "../../../cm.ts";
import { CompletionQueue, Context, ProtectionDomain, QpType, QueuePair } from "../../../mod.ts";
import { linesOf } from "../../process.ts";

/** The address of the device. */
export const ADDRESS = "10.0.0.1";
const PORT = 18701;

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

function serve(): void {
  const channel = new EventChannel();
  const listener = new CmId(channel);
  listener.bindAddr({ hostname: ADDRESS, port: PORT });
  listener.listen();
  void accept(channel);
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

let queuePairs: QueuePairs | undefined;

/** So many connections at the same time, from the call of connect() until all are established. */
async function connect(count: number): Promise<number> {
  using stack = new DisposableStack();
  const channel = stack.use(new EventChannel());
  const ends = await Promise.all(Array.from({ length: count }, async () => {
    const id = new CmId(channel);
    await id.resolveAddr({ hostname: ADDRESS, port: PORT });
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

if (import.meta.main) {
  for await (const line of linesOf(Deno.stdin.readable)) {
    if (line === "serve") serve();
    else console.log(await connect(Number(line.split(" ")[1])));
  }
}
