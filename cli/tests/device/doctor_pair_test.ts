// Two doctors at the ends of a cable that loses packets in one direction, in both, or only large ones.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { type LossyLink, lossyLink } from "./lossy_link.ts";
import type { Ending } from "../../../tests/device/programs.ts";
import type { Ends } from "../../../tests/device/links.ts";
import { run } from "../../../tests/device/run.ts";
import { deviceTest } from "../../../tests/device/setup.ts";
import { cli } from "./cli.ts";

const PORT = "18520";
const HOST = "127.0.0.1";
const HEALTHY = `healthy: messages reach ${HOST} and come from there`;
const LAN = ["10.12.0.1", "10.12.0.2"] as const;
const GIDS = ["::ffff:10.12.0.1", "::ffff:10.12.0.2"] as const;

/** What the doctors of both ends say: of the one that listens, and of the one that connects. */
async function bothSay(
  [first, second]: readonly [string, string],
  ...args: readonly string[]
): Promise<[Ending, Ending]> {
  const listens = cli("doctor", "--listen", "-p", PORT, "-d", first, ...args);
  const connects = cli("doctor", "--peer", HOST, "-p", PORT, "-d", second, ...args);
  return await Promise.all([listens, connects]);
}

/** Asserts how a doctor ends, and how its first line begins behind the name of the peer. */
function assertFound({ code, stdout, stderr }: Ending, status: number, problem: string): void {
  assertEquals([code, stderr], [status, ""], stdout);
  const start = `${status === 1 ? "warning" : "broken"}: ${HOST}: ${problem}`;
  assertEquals(stdout.slice(0, start.length), start);
}

const ALL = ["root netem loss 100%"];
/** Behind another discipline the kernel does not tell the sender that a packet is dropped: so do switches. */
const LARGE = [
  "root handle 1: netem delay 0ms",
  "parent 1:1 tbf rate 1gbit burst 900 limit 100000",
];

/** What ARP would find: firewalls that drop RoCE let ARP pass, but the disciplines here drop all. */
async function setNeighbours(action: "replace" | "delete", [first, second]: Ends): Promise<void> {
  for (const [netdev, peer, address] of [[first, second, LAN[1]], [second, first, LAN[0]]]) {
    const mac = Deno.readTextFileSync(`/sys/class/net/${peer}/address`).trim();
    const entry = ["lladdr", mac, "nud", "permanent"];
    await run(
      "ip",
      "neigh",
      action,
      address!,
      "dev",
      netdev!,
      ...action === "replace" ? entry : [],
    );
  }
}

/** Runs the doctors while packets that leave the first end are dropped as `tc` is told. */
async function bothSayWhile(
  link: LossyLink,
  disciplines: readonly string[],
  ends: readonly (0 | 1)[],
): Promise<[Ending, Ending]> {
  for (const end of ends) {
    for (const discipline of disciplines) {
      const at = ["dev", link.netdevs[end], ...discipline.split(" ")];
      await run("tc", "qdisc", "add", ...at);
    }
  }
  try {
    return await bothSay(link.devices);
  } finally {
    for (const end of ends) await run("tc", "qdisc", "delete", "dev", link.netdevs[end], "root");
  }
}

deviceTest(
  "doctor says in which direction messages between two hosts are lost, and which",
  async () => {
    await using link = await lossyLink();
    await run("modprobe", "sch_tbf");
    for (const { code, stdout } of await bothSay(link.devices)) {
      assertEquals([code, stdout.slice(0, HEALTHY.length)], [0, HEALTHY], stdout);
      assertEquals(stdout.match(/ 8 of 8 arrived$/gm)?.length, 8, stdout);
    }
    await setNeighbours("replace", link.netdevs);
    const [here, there] = [`this host (${GIDS[0]})`, `this host (${GIDS[1]})`];
    const [fromHere, toThere] = [`${HOST} (${GIDS[0]})`, `${HOST} (${GIDS[1]})`];
    const [a, b] = await bothSayWhile(link, ALL, [0]);
    assertFound(a, 2, `no datagram arrives from ${here} to ${toThere}; the other direction works`);
    assertFound(
      b,
      2,
      `no datagram arrives from ${fromHere} to ${there}; the other direction works`,
    );
    for (const end of await bothSayWhile(link, ALL, [0, 1])) {
      assertFound(end, 2, "no datagram arrives, neither from this host ");
    }
    const [c, d] = await bothSayWhile(link, LARGE, [0]);
    const large = "those of 1024 do not";
    assertFound(c, 2, `datagrams of 64 bytes arrive from ${here} to ${toThere}, ${large}`);
    assertFound(d, 2, `datagrams of 64 bytes arrive from ${fromHere} to ${there}, ${large}`);
    await setNeighbours("delete", link.netdevs);
    for (const end of await bothSayWhile(link, ALL, [0, 1])) {
      assertFound(end, 2, `this host does not find the way to ${HOST}: `);
    }
    await run("ip", "link", "set", link.netdevs[1], "down");
    const [e, f] = await bothSay(link.devices);
    for (const { code, stdout } of [e, f]) assertEquals(code, 2, stdout);
    assertStringIncludes(f.stdout, `broken: ${link.devices[1]} port 1: its network interface`);
  },
);
