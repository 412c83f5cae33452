/** Connections by name between two hosts, in both roles: of this library, and with programs of others. */

import { assertEquals } from "@std/assert";
import { type CmId, getAddrInfo, PortSpace, type SocketAddress } from "../../../cm.ts";
import {
  AddressHandle,
  QpState,
  QpType,
  type QueuePair,
  ReplyPath,
  WrOpcode,
} from "../../../mod.ts";
import { run as runCli } from "../../../cli/run.ts";
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
  mckey,
  Member,
  rping,
  type Talk,
  TALKS,
  timeOfEnd,
} from "../../device/cm/peers.ts";
import { start } from "../../device/programs.ts";
import { waitFor } from "../../device/setup.ts";
import { recorder as keep } from "../../../cli/tests/pure/terminal.ts";
import type { HostCase, Run } from "../host_case.ts";

type Family = keyof typeof HOSTS;

const LENGTH = 100;
const GRH = 40;
const ROLES = ["server", "client"] as const;
const WAYS = ["ends", "is killed"] as const;
/** A port is in use for a while afterwards. */
let ports = 18_700;
/** Only reached by what hangs. */
const patience = (): { signal: AbortSignal } => ({ signal: AbortSignal.timeout(60_000) });

const KINDS = {
  RC: { portSpace: PortSpace.TCP, type: QpType.RC, head: 0 },
  UD: { portSpace: PortSpace.UDP, type: QpType.UD, head: GRH },
} as const;

/** Whether a program on the other host should have listened long ago, counted from now on. */
function gaveUp(): () => boolean {
  const { signal } = patience();
  return () => signal.aborted;
}

/** What a message of a number has. */
function contents(number: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: LENGTH }, (_, i) => i ^ number);
}

/** Accepts a client, gets messages and sends each back. */
async function serve(run: Run, kind: keyof typeof KINDS, family: Family): Promise<void> {
  const { portSpace, type, head } = KINDS[kind];
  using bed = new CmBed();
  const listener = bed.listener(portSpace, HOSTS[family]);
  await run.session.send(listener.localAddress);
  const { id } = await bed.request();
  const [qp, mr] = [bed.newQp(type), bed.newMr()];
  id.prepare(qp);
  const sge = mr.slice(0, head + LENGTH);
  qp.postRecv({ sge });
  await id.accept(qp);
  using path = new ReplyPath(bed.pd, { portNum: id.portNum });
  const qkey = id.initQpAttr(QpState.INIT).qkey!;
  for (let i = 0; i < run.messages; i++) {
    const [wc] = await waitFor(bed.cq);
    assertEquals(mr.bytes(head, LENGTH).slice(), contents(i));
    const { immData: remoteQpn, ...from } = wc!.check();
    const answer = { sge: mr.slice(head, LENGTH) };
    if (kind === "RC") qp.postSend(answer);
    else {
      const ah = path.to(from, mr.grhAt(0));
      qp.postSend({ ...answer, ah, remoteQpn: remoteQpn!, remoteQkey: qkey });
    }
    (await waitFor(bed.cq))[0]!.check();
    qp.postRecv({ sge });
    await run.session.send("answered");
    run.count(1);
  }
  if (kind === "RC") await assertEnds(id, qp);
}

/** Connects to the server, sends messages, and compares what comes back. */
async function ask(run: Run, kind: keyof typeof KINDS): Promise<void> {
  const { portSpace, type, head } = KINDS[kind];
  using bed = new CmBed();
  const id = await bed.routed(await run.session.receive<SocketAddress>(), portSpace);
  const [recvCq, mr] = [bed.newCq(), bed.newMr()];
  const qp = bed.newQp(type, { recvCq });
  const { ud } = await id.connect(qp);
  id.establish();
  using ah = ud && new AddressHandle(bed.pd, ud.ahAttr);
  const to = ud && { ah: ah!, remoteQpn: ud.qpNum, remoteQkey: ud.qkey };
  const [out, back] = [mr.slice(1024, LENGTH), mr.slice(0, head + LENGTH)];
  for (let i = 0; i < run.messages; i++) {
    qp.postRecv({ sge: back });
    out.bytes.set(contents(i));
    qp.postSend({ opcode: WrOpcode.SEND_WITH_IMM, immData: qp.qpNum, sge: out, ...to });
    for (const cq of [bed.cq, recvCq]) (await waitFor(cq))[0]!.check();
    assertEquals(mr.bytes(head, LENGTH).slice(), contents(i));
    await run.session.receive();
    run.count(1);
  }
  if (kind === "UD") return;
  assertEquals(await id.disconnect({ timeout: 60_000 }), true);
  assertEquals(qp.state, QpState.ERR);
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

const ROUNDS = 3;
const PING = ["-C", `${ROUNDS}`, "-S", `${LENGTH}`, "-v"];

/** What the command rping prints. */
async function ping(...args: string[]): Promise<{ out: string; err: string }> {
  const kept = keep();
  await runCli(["rping", ...args], kept.terminal);
  return { out: kept.out, err: kept.err };
}

/** The data that an end of rping shows. */
function dataIn(text: string): string[] {
  return text.split("\n").filter((line) => line.includes("ping data: "))
    .map((line) => line.slice(line.indexOf("rdma-ping-")));
}

/** The command rping serves rping on the other host, and is its client. */
async function pingWith({ session, count }: Run, family: Family): Promise<void> {
  const own = { hostname: HOSTS[family], port: ++ports };
  const serving = ping("-p", `${own.port}`, "-v");
  await session.send(own);
  const there = await session.receive<string>();
  assertSame(await serving, there);
  const { hostname, port } = await session.receive<SocketAddress>();
  const isLate = gaveUp();
  let client = await ping("-p", `${port}`, ...PING, hostname);
  while (client.err.includes("nobody listens") && !isLate()) {
    client = await ping("-p", `${port}`, ...PING, hostname);
  }
  assertSame(client, await session.receive<string>());
  count(2 * ROUNDS);
}

function assertSame({ out, err }: { out: string; err: string }, there: string): void {
  const data = dataIn(out);
  assertEquals(data.map((text) => text.length), Array(ROUNDS).fill(LENGTH - 1), err);
  assertEquals(dataIn(there), data);
}

async function runRping({ session }: Run, family: Family): Promise<void> {
  const to = await session.receive<SocketAddress>();
  await using client = start(...rping("client", to), "-V", ...PING);
  await session.send((await client.ending).stdout);
  const own = { hostname: HOSTS[family], port: ++ports };
  await using server = start(...rping("server", own), "-S", `${LENGTH}`, "-v");
  await session.send(own);
  await session.send((await server.ending).stdout);
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

/** Is in a group with mckey on the other host, which sends first. */
async function meet(run: Run): Promise<void> {
  const { session } = run;
  using bed = new CmBed();
  using member = await Member.join(bed, HOSTS.IPv4);
  await session.send("joined");
  await member.receive();
  run.count(10);
  await session.receive();
  let isOver = false;
  const over = session.receive().finally(() => isOver = true);
  await member.sendUntil(() => isOver);
  await over;
}

async function runMckey({ session }: Run): Promise<void> {
  await session.receive();
  for (const role of ["sender", "receiver"] as const) {
    await using program = start(...mckey(HOSTS.IPv4, role));
    await assertEndsWell(program);
    await session.send("ended");
  }
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
  ...(["RC", "UD"] as const).flatMap((kind) => [
    {
      name: `${kind} by name over ${family}: the first host is the client`,
      first: (run: Run) => ask(run, kind),
      second: (run: Run) => serve(run, kind, family),
    },
    {
      name: `${kind} by name over ${family}: the first host is the server`,
      first: (run: Run) => serve(run, kind, family),
      second: (run: Run) => ask(run, kind),
    },
  ]),
  ...Object.entries(TALKS).map(([name, talk]) => ({
    name: `${name} by name over ${family}, both roles`,
    first: (run: Run) => talkWith(run, talk, family),
    second: (run: Run) => runTalk(run, talk, family),
  })),
  {
    name: `rping by name over ${family}, both roles`,
    first: (run: Run) => pingWith(run, family),
    second: (run: Run) => runRping(run, family),
  },
  {
    name: `A connection by name over ${family} ends with either end, in both roles`,
    first: (run: Run) => outlive(run, family),
    second: (run: Run) => beOutlived(run, family),
  },
];

export const byName: readonly HostCase[] = [
  ...FAMILIES.flatMap(ofFamily),
  { name: "mckey by name over IPv4, both roles", first: meet, second: runMckey },
  {
    name: "The second address by name, where the first does not answer",
    first: goOn,
    second: sendBack,
  },
];
