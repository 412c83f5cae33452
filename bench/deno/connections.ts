/** Connections by the communication manager. They end as those of ../c/pair.c do. */

import { CmEventType, CmId, EventChannel } from "../../cm.ts";
import { Context } from "../../mod.ts";
import { type Echo, exchanging } from "./echo.ts";
import { End, makeQp } from "./end.ts";

const hostname = "10.0.0.1";

export function connections(isServer: boolean): Echo {
  const [end, channel] = [new End(Context.open(), "RC"), new EventChannel()];
  const listener = isServer ? new CmId(channel) : undefined;
  listener?.bindAddr({ hostname, port: 0 });
  listener?.listen();
  let [qp, port] = [makeQp(end, "RC"), 0];
  let id: CmId | undefined;
  return {
    address: listener?.localAddr?.port ?? 0,
    connect: (remote) => void (port = Number(remote)),
    serve: async (count) => {
      using connections = new DisposableStack();
      for await (const { event, id } of channel) {
        if (event !== CmEventType.CONNECT_REQUEST) continue;
        connections.use(qp);
        await connections.use(id).accept(qp);
        qp = makeQp(end, "RC");
        if (--count === 0) return;
      }
    },
    play: exchanging(async () => {
      await id!.connect(qp);
      await establish(id!);
    }, async () => {
      if (id !== undefined) {
        id.close();
        qp.close();
        qp = makeQp(end, "RC");
      }
      id = new CmId(channel);
      await id.resolveAddr({ hostname, port });
      await id.resolveRoute();
    }),
  };
}

/** Before 1.0 the method of this name blocked the thread, which is other work. */
function establish(id: CmId & { readonly establishAsync?: CmId["establish"] }): Promise<void> {
  return id.establishAsync?.() ?? id.establish();
}
