// The peer that a test kills: it sends, receives or does nothing, as its last argument says.

import { connectRc } from "../../../net/mod.ts";

const [device, port, action] = Deno.args as [string, string, string];
const conn = await connectRc({
  ...device === "by address"
    ? { hostname: "10.0.0.1", port: Number(port) }
    : { device, tcpPort: Number(port) },
  connectTimeout: 60_000,
});
const block = new Uint8Array(10_000);
while (true) {
  if (action === "send") await conn.send(block);
  else if (action === "receive") await conn.receive();
  else await new Promise((resolve) => setTimeout(resolve, 1000));
}
