// What `deno run --watch` starts again and again: objects of each kind, with work posted, connections, and waits under way.

import { EventChannel } from "../../../cm.ts";
import { connectRc, listenRc, listenUd } from "../../../net/mod.ts";
import { HOSTS } from "../cm/cm_device.ts";
import { RXE } from "../setup.ts";
import { makeEverything, postWork } from "./endings.ts";

const [port] = Deno.args.map(Number);
try {
  const all = makeEverything();
  const { context, cq } = all;
  postWork(all);
  cq.completions().next();
  context.events().next();
  new EventChannel().events().next();
  const listener = await listenRc({ port: port! });
  const [client, server] = await Promise.all([
    connectRc({ hostname: HOSTS.IPv4, port: port! }),
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
