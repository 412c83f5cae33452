/** Connections by the communication manager. See ../c/connect.h. */

import { type CmEvent, CmEventType, CmId, EventChannel } from "../../cm.ts";
import { CompletionQueue, Context, ProtectionDomain, QpType, QueuePair } from "../../mod.ts";
import type { Player } from "./echo.ts";

/** The address of the device. */
const hostname = "10.0.0.1";
const SPARES = 64;

/** COUNT is a number of connections, and the client makes them all at the same time. */
export class Connecting implements Player {
  readonly #channel: EventChannel = new EventChannel();
  readonly #pd: ProtectionDomain;
  readonly #cq: CompletionQueue;
  readonly #listener: CmId | undefined;
  #spares: QueuePair[] = [];
  #port = 0;

  constructor(isServer: boolean) {
    const context = Context.open();
    this.#pd = new ProtectionDomain(context);
    this.#cq = new CompletionQueue(context, { cqe: 1, channel: null });
    if (!isServer) return;
    this.#listener = new CmId(this.#channel);
    this.#listener.bindAddr({ hostname, port: 0 });
    this.#listener.listen();
    this.#makeSpares(SPARES);
  }

  get address(): number {
    return this.#listener?.localAddress?.port ?? 0;
  }

  connect(remote: string): void {
    this.#port = Number(remote);
  }

  async serve(count: number): Promise<void> {
    const held: Promise<void>[] = [];
    for await (const event of this.#channel) {
      if (event.type !== CmEventType.CONNECT_REQUEST) continue;
      held.push(this.#hold(event));
      if (held.length === count) break;
    }
    await Promise.all(held);
    this.#makeSpares(SPARES);
  }

  async #hold({ id }: CmEvent): Promise<void> {
    using _id = id;
    using qp = this.#spares.pop()!;
    await id.accept(qp);
    await id.disconnected();
  }

  async play(count: number): Promise<string> {
    this.#makeSpares(count);
    const ids = await Promise.all(Array.from({ length: count }, () => this.#resolved()));
    const start = performance.now();
    await Promise.all(ids.map(async ({ id, qp }) => {
      await id.connect(qp);
      id.establish();
    }));
    const taken = performance.now() - start;
    await Promise.all(ids.map(async ({ id, qp }) => {
      await id.disconnect();
      id.close();
      qp.close();
    }));
    return `${taken * 1e6 / count}`;
  }

  async #resolved(): Promise<{ id: CmId; qp: QueuePair }> {
    const id = new CmId(this.#channel);
    await id.resolveAddr({ hostname, port: this.#port });
    await id.resolveRoute();
    const qp = this.#spares.pop()!;
    id.prepare(qp);
    return { id, qp };
  }

  #makeSpares(count: number): void {
    const [sendCq, recvCq, cap] = [this.#cq, this.#cq, { maxSendWr: 64, maxRecvWr: 64 }];
    while (this.#spares.length < count) {
      this.#spares.push(new QueuePair(this.#pd, { type: QpType.RC, sendCq, recvCq, cap }));
    }
  }
}
