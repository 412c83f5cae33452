import { assert, assertEquals, assertGreater } from "@std/assert";
import { listenUd, type UdAddress } from "../../../net/mod.ts";
import { startDeno } from "../programs.ts";
import { deviceTest, QKEY, RXE } from "../setup.ts";
import type { PeerCounts } from "./ud_peers.ts";

const PEERS = 1000;
const PROCESSES = 2;
/** Requests of a peer; a long run has 1000. */
const ROUNDS = Number(Deno.env.get("IBVERBS_NET_ROUNDS") ?? 1);
const IS_LONG = ROUNDS > 100;
const REQUESTS = PEERS * ROUNDS;
/** Requests of a process between two changes. */
const PAUSE = 20;
const MIB = 2 ** 20;

async function runPeers(server: UdAddress, gidIndex: number): Promise<PeerCounts> {
  const file = new URL("./ud_peers.ts", import.meta.url).pathname;
  const values = [JSON.stringify(server), gidIndex, PEERS / PROCESSES, REQUESTS / PROCESSES, PAUSE];
  await using program = startDeno(file, values.map(String));
  const { code, stdout, stderr } = await program.ending;
  assertEquals([code, stderr], [0, ""]);
  return JSON.parse(stdout);
}

deviceTest(
  `UdConn answers ${REQUESTS} requests of ${PEERS} peers, of which some leave and others join`,
  async () => {
    // Not all peers are remembered at the same time.
    const options = { maxPeers: 300, recvDepth: 2 * PEERS, maxQueued: 2 * PEERS };
    await using server = await listenUd({ device: RXE, qkey: QKEY, ...options });
    const heard = new Set<number>();
    const echo = (async () => {
      for await (const [message, from] of server) {
        heard.add(from.qpn);
        await server.send(message, from);
      }
    })();
    const memory: number[] = [];
    const sampling = setInterval(() => memory.push(Deno.memoryUsage().rss), 100);
    const runs = Array.from({ length: PROCESSES }, () => runPeers(server.addr, server.gidIndex));
    const counts = await Promise.all(runs);
    clearInterval(sampling);
    const sum = (what: keyof PeerCounts): number =>
      counts.reduce((sum, count) => sum + count[what], 0);
    const sent = sum("sent");
    const { stats } = server;
    if (IS_LONG) {
      const rss = memory.map((bytes) => Math.round(bytes / MIB)).join(" ");
      console.log({ peers: counts, server: stats, rss });
    }
    assertEquals([sent, sum("changes")], [REQUESTS, REQUESTS / PAUSE]);
    assert(heard.size >= PEERS);
    assertEquals(sum("answered") + sum("left"), sent);
    assert(sum("answered") >= 0.8 * REQUESTS);
    assertEquals([stats.received, stats.sent], [sent, sent]);
    assertEquals([stats.dropped, stats.recvErrors, stats.sendErrors], [0, 0, 0]);
    // Garbage comes and goes. What leaked for each peer or message would be in the last quarter.
    if (IS_LONG) {
      const quarter = memory.length >> 2;
      const middle = Math.max(...memory.slice(quarter, -quarter));
      assertGreater(middle + 8 * MIB, Math.max(...memory.slice(-quarter)));
    }
    server.close();
    await echo;
  },
);
