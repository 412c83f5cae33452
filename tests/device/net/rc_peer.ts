// The peer that the test kills.

import { connectRc } from "../../../net/mod.ts";

const [device, tcpPort, action] = Deno.args as [string, string, string];
const conn = await connectRc({ device, tcpPort: Number(tcpPort), connectTimeout: 60_000 });
while (true) {
  if (action === "send") await conn.send(new Uint8Array(10_000));
  else if (action === "receive") await conn.receive();
  else await new Promise((resolve) => setTimeout(resolve, 1000));
}
