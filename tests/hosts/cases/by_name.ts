/** Connections by name between two hosts, in both roles: of this library, and with programs of others. */

import { assertEquals } from "@std/assert";
import { type CmId, getAddrInfo, type SocketAddress } from "../../../cm.ts";
import { QpState, type QueuePair } from "../../../mod.ts";
import { connectRc, listenRc } from "../../../net/mod.ts";
import { CmBed, HOSTS } from "../../device/cm/bed.ts";
import {
  accepted,
  assertEndsWell,
  beClient,
  beServer,
  connected,
  end,
  listenFor,
  rping,
  type Talk,
  TALKS,
  timeOfEnd,
} from "../../device/cm/peers.ts";
import { start } from "../../device/programs.ts";
import type { HostCase, Run } from "../host_case.ts";

type Family = keyof typeof HOSTS;

const LENGTH = 100;
const ROLES = ["server", "client"] as const;
const WAYS = ["ends", "is killed"] as const;
/** A port is in use for a while afterwards. */
let ports = 18_700;
/** Only reached by what hangs. */
const patience = (): { signal: AbortSignal } => ({ signal: AbortSignal.timeout(60_000) });

/** Whether a program on the other host should have listened long ago, counted from now on. */
function gaveUp(): () => boolean {
  const { signal } = patience();
  return () => signal.aborted;
}

/** What a message of a number has. */
function contents(number: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: LENGTH }, (_, i) => i ^ number);
}

async function assertEnds(id: CmId, qp: QueuePair): Promise<void> {
  await id.disconnected(patience());
  assertEquals([id.state, qp.state], ["DISCONNECTED", QpState.ERR]);
}

/** rping on the other host is told that the connection ends, and then it is killed. */
async function outlive(run: Run, family: Family): Promise<void> {
  const { session } = run;
  using bed = new CmBed();
  const listener = bed.listener(undefined, HOSTS[family]);
  await session.send(listener.localAddress);
  for (const role of ROLES) {
    for (const way of WAYS) {
      const id = role === "client"
        ? await accepted(bed)
        : await connected(bed, await session.receive<SocketAddress>(), gaveUp());
      await session.send("connected");
      const start = performance.now();
      if (way === "ends") {
        await end(id);
        const ms = await session.receive<number>();
        console.log(`  Milliseconds until the ${role} in C sees the end over ${family}: ${ms}`);
      } else {
        await assertEnds(id, id.qp!);
        const ms = Math.round(performance.now() - start);
        console.log(
          `  Milliseconds until the death of the ${role} in C is seen over ${family}: ${ms}`,
        );
      }
      id.close();
      run.count(1);
    }
  }
}

/** Runs rping, whose peer says nothing, and kills it or lets it end. */
async function beOutlived({ session }: Run, family: Family): Promise<void> {
  const to = await session.receive<SocketAddress>();
  for (const role of ROLES) {
    for (const way of WAYS) {
      const own = { hostname: HOSTS[family], port: ++ports };
      await using program = start(...rping(role, role === "client" ? to : own));
      if (role === "server") await session.send(own);
      await session.receive();
      if (way === "ends") await session.send(await timeOfEnd(program, role));
      else await program.kill();
    }
  }
}

/** Is the peer of a program on the other host, first as its client, then as its server. */
async function talkWith(run: Run, talk: Talk, family: Family): Promise<void> {
  const { session } = run;
  using bed = new CmBed();
  await beClient(bed, await session.receive<SocketAddress>(), talk, gaveUp());
  run.count(talk.count);
  await session.receive();
  using listener = listenFor(bed, talk, HOSTS[family]);
  await session.send(listener.localAddress);
  await beServer(bed, talk);
  run.count(talk.count);
  await session.receive();
}

/** Runs both sides of a program. */
async function runTalk({ session }: Run, talk: Talk, family: Family): Promise<void> {
  const own = { hostname: HOSTS[family], port: talk.port ?? ++ports };
  await using server = start(...talk.server(own.hostname, `${own.port}`));
  await session.send(own);
  await assertEndsWell(server);
  await session.send("the server has ended");
  const to = await session.receive<SocketAddress>();
  await using client = start(...talk.client(to.hostname, `${to.port}`));
  await assertEndsWell(client);
  await session.send("the client has ended");
}

/** Connects by a name of two addresses. The one that the system prefers is nobody's. */
async function goOn({ session, count }: Run): Promise<void> {
  const { hostname, port } = await session.receive<SocketAddress>();
  const name = "elsewhere";
  const nobody = "fd00::99";
  Deno.writeTextFileSync("/etc/hosts", `\n${nobody} ${name}\n${hostname} ${name}\n`, {
    append: true,
  });
  assertEquals((await getAddrInfo(name))[0]!.dstAddr!.hostname, nobody);
  const start = performance.now();
  await using conn = await connectRc({ hostname: name, port });
  console.log(`  Milliseconds to the second address: ${Math.round(performance.now() - start)}`);
  await conn.send(contents(0));
  assertEquals(await conn.receive(), contents(0));
  count(1);
}

async function sendBack({ session, count }: Run): Promise<void> {
  await using listener = await listenRc({ port: 0 });
  await session.send({ hostname: HOSTS.IPv4, port: listener.addr.port });
  await using conn = await listener.accept(patience());
  await conn.send((await conn.receive())!);
  assertEquals(await conn.receive(), null);
  count(1);
}

const FAMILIES = Object.keys(HOSTS) as Family[];

const ofFamily = (family: Family): HostCase[] => [
  ...Object.entries(TALKS).map(([name, talk]) => ({
    name: `${name} by name over ${family}, both roles`,
    first: (run: Run) => talkWith(run, talk, family),
    second: (run: Run) => runTalk(run, talk, family),
  })),
  {
    name: `A connection by name over ${family} ends with either end, in both roles`,
    first: (run: Run) => outlive(run, family),
    second: (run: Run) => beOutlived(run, family),
  },
];

export const byName: readonly HostCase[] = [
  ...FAMILIES.flatMap(ofFamily),
  {
    name: "The second address by name, where the first does not answer",
    first: goOn,
    second: sendBack,
  },
];
