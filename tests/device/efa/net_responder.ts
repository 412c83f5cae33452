// Answers messages without verbs. After each round it opens another socket, to which all senders are strangers.
//
// Arguments: the device, srd or ud, the qkey, and the numbers of rounds and of messages in each.
// Prints the address of each socket, and its counters at the end of the round, as JSON.

import { listenSrd, listenUd } from "../../../net/mod.ts";

const [device, kind, ...numbers] = Deno.args as [string, string, ...string[]];
const [qkey, rounds, count] = numbers.map(Number) as [number, number, number];
const listen = kind === "srd" ? listenSrd : listenUd;

for (let round = 0; round < rounds; round++) {
  await using conn = await listen({ device, qkey });
  console.log(JSON.stringify(conn.addr));
  const sends: Promise<number>[] = [];
  for await (const [message, from] of conn) {
    const sender = new TextEncoder().encode(` ${from.gid} ${from.qpNum}`);
    sends.push(conn.send(Uint8Array.of(...message, ...sender), from));
    if (sends.length === count) break;
  }
  await Promise.all(sends);
  console.log(JSON.stringify(conn.stats));
}
