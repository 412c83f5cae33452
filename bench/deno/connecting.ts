/** Connections by the communication manager. See ../c/connect.h. */

import { type CmEvent, CmEventType, CmId, EventChannel } from "../../cm.ts";
import { Context, type QueuePair } from "../../mod.ts";
import type { Echo } from "./echo.ts";
import { End, makeQp } from "./end.ts";

/** The address of the device. */
const hostname = "10.0.0.1";
const SPARES = 64;

export function connecting(isServer: boolean): Echo {
  const [end, channel, spares] = [new End(Context.open()), new EventChannel(), [] as QueuePair[]];
  const makeSpares = (): void => {
    while (spares.length < SPARES) spares.push(makeQp(end, "RC"));
  };
  const listener = isServer ? new CmId(channel) : undefined;
  listener?.bindAddr({ hostname, port: 0 });
  listener?.listen();
  makeSpares();
  let port: number;
  const hold = async ({ id }: CmEvent): Promise<void> => {
    using _id = id;
    using qp = spares.pop()!;
    await id.accept(qp);
    await id.disconnected();
  };
  const resolved = async () => {
    const id = new CmId(channel);
    await id.resolveAddr({ hostname, port });
    await id.resolveRoute();
    const qp = spares.pop()!;
    id.prepare(qp);
    return { id, qp };
  };
  return {
    address: listener?.localAddress?.port ?? 0,
    connect: (remote) => void (port = Number(remote)),
    serve: async (count) => {
      const held: Promise<void>[] = [];
      for await (const event of channel) {
        if (event.type !== CmEventType.CONNECT_REQUEST) continue;
        if (held.push(hold(event)) === count) break;
      }
      await Promise.all(held);
      makeSpares();
    },
    play: async (count) => {
      makeSpares();
      const ids = await Promise.all(Array.from({ length: count }, resolved));
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
    },
  };
}
