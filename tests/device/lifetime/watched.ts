// What `deno run --watch` starts again and again: objects of each kind, with work posted, connections, and waits under way.

import { EventChannel } from "../../../cm.ts";
import { connectRc, listenRc, listenUd } from "../../../net/mod.ts";
import { RXE } from "../rxe.ts";
import { makeEverything, postWork } from "./endings.ts";

const [hostname, port] = [Deno.args[0]!, Number(Deno.args[1])];
try {
  const all = makeEverything();
  const { context, cq } = all;
  postWork(all);
  cq.completions().next();
  context.events().next();
  new EventChannel().events().next();
  const listener = await listenRc({ port });
  const [client, server] = await Promise.all([
    connectRc({ hostname, port }),
    listener.accept(),
  ]);
  listener.accept();
  client.receive();
  server.receive();
  const conn = await listenUd({ device: RXE, qkey: 7 });
  conn.receive();
  await conn.send(Uint8Array.of(1), conn.addr);
  console.log("ready");
} catch (error) {
  console.log(error);
}
