// Answers messages without verbs. After each round it opens another socket, to which all senders are strangers.
//
// Arguments: the device, srd or ud, and the numbers of rounds and of messages in each.
// Prints the address of each socket, and its counters at the end of the round, as JSON.

import { listenSrd, listenUd } from "../../../net/mod.ts";
import { QKEY } from "./adapters.ts";

const [device, kind, rounds, count] = Deno.args as [string, string, string, string];
const listen = kind === "srd" ? listenSrd : listenUd;

for (let round = 0; round < Number(rounds); round++) {
  await using conn = await listen({ device, qkey: QKEY });
  console.log(JSON.stringify(conn.addr));
  const sends: Promise<number>[] = [];
  for await (const [message, from] of conn) {
    const sender = new TextEncoder().encode(` ${from.gid} ${from.qpn}`);
    sends.push(conn.send(Uint8Array.of(...message, ...sender), from));
    if (sends.length === Number(count)) break;
  }
  await Promise.all(sends);
  console.log(JSON.stringify(conn.stats));
}
