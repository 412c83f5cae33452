/** The second host is lost in the middle of traffic, in several ways. */

import { assertEquals, assertGreater, assertRejects } from "@std/assert";
import {
  AccessFlags,
  nameOf,
  ProtectionDomain,
  type QpAddress,
  QpState,
  QpType,
  WcStatus,
  WrOpcode,
} from "../../../mod.ts";
import { connectRc, listenUd, type RcConn, type UdAddress, type UdConn } from "../../../net/mod.ts";
import { startDeno } from "../../device/programs.ts";
import { run as runProgram } from "../../device/run.ts";
import { type End, gidOf, makeEnd, openRxe, PORT, RXE, until } from "../../device/setup.ts";
import type { HostCase, Run } from "../host_case.ts";
import { CONNECT, DEPTH, LENGTH, PATIENT, QKEY } from "../lost.ts";
import { NETDEV } from "../network.ts";

/** What the victim tells. */
interface Victim {
  readonly address: QpAddress;
  readonly addr: string;
  readonly rkey: number;
  readonly tcpPort: number;
  readonly ud: UdAddress;
}

const VICTIM = new URL("../victim.ts", import.meta.url).pathname;
/** A file that both hosts see: the network between them may be gone. */
const NOTICED = `${Deno.env.get("IBVERBS_OUT")}/hosts/noticed`;
/** Only reached by what hangs. */
const PATIENCE_MS = 60_000;
const patience = (): { signal: AbortSignal } => ({ signal: AbortSignal.timeout(PATIENCE_MS) });

/** How far each kind of traffic is when the host is lost. */
const LEAST = 20;
const SEND_DEPTH = 4;

/** What moves on the first host. */
interface Counts {
  requests: number;
  messages: number;
  datagrams: number;
}

/** Keeps RC requests in progress until one fails. The result is how they failed. */
async function outlive({ qp, cq, mr }: End, victim: Victim, counts: Counts): Promise<string[]> {
  const failed: string[] = [];
  const sge = mr.sge(0, LENGTH);
  let posted = 0;
  const post = (): void => {
    const remote = { remoteAddr: BigInt(victim.addr), rkey: victim.rkey };
    if (posted++ % 2 === 0) qp.postSend({ sge });
    else qp.postSend({ opcode: WrOpcode.RDMA_READ, sge, ...remote });
  };
  for (let i = 0; i < DEPTH; i++) post();
  let ended = 0;
  for await (const wc of cq.completions({ signal: AbortSignal.timeout(2 * PATIENCE_MS) })) {
    ended++;
    if (wc.status !== WcStatus.SUCCESS) failed.push(nameOf(WcStatus, wc.status));
    else counts.requests++;
    if (failed.length === 0) post();
    if (ended === posted) break;
  }
  return failed;
}

/** Uses a connection until it breaks. */
async function useConn(conn: RcConn, counts: Counts): Promise<void> {
  for (let i = 0;; i++) {
    await conn.send(Uint8Array.of(i));
    assertEquals(await conn.receive(patience()), Uint8Array.of(i));
    counts.messages++;
  }
}

/** Sends datagrams, and counts the answers, until it is asked to stop. */
async function useUd(
  conn: UdConn,
  to: UdAddress,
  counts: Counts,
  stop: AbortSignal,
): Promise<void> {
  try {
    while (true) {
      await conn.send(Uint8Array.of(7), to);
      await conn.receive({ signal: stop });
      counts.datagrams++;
    }
  } catch (error) {
    if (error !== stop.reason) throw error;
  }
}

/** Receives until a datagram begins with a byte: answers of the lost host may come before. */
async function receiveUntil(conn: UdConn, wanted: number): Promise<void> {
  while ((await conn.receive(patience()))[0][0] !== wanted);
}

async function survive(run: Run): Promise<void> {
  using context = openRxe();
  const pd = new ProtectionDomain(context);
  const end = makeEnd(pd, QpType.RC);
  const { gidIndex } = gidOf(context, "ipv4");
  const victim = await run.session.receive<Victim>();
  end.qp.init({ portNum: PORT, gidIndex, qpAccessFlags: AccessFlags.REMOTE_WRITE });
  end.qp.activateRc(victim.address, PATIENT);
  await run.session.send(end.qp.address);
  await run.session.receive();
  const options = { ...CONNECT, device: RXE, gidIndex, hostname: "10.0.0.2" };
  await using conn = await connectRc({ ...options, tcpPort: victim.tcpPort });
  await using ud = await listenUd({ device: RXE, gidIndex, qkey: QKEY, sendDepth: SEND_DEPTH });

  const counts = { requests: 0, messages: 0, datagrams: 0 };
  const stop = new AbortController();
  const outlived = outlive(end, victim, counts);
  const broken = assertRejects(() => useConn(conn, counts), Deno.errors.ConnectionReset);
  const answered = useUd(ud, victim.ud, counts, stop.signal);
  const all = Promise.all([outlived, broken, answered]);
  all.catch(() => {});
  await until("traffic", () => Object.values(counts).every((count) => count >= LEAST));
  await run.session.send("now");

  const [first, ...others] = await outlived;
  assertEquals(first, "RETRY_EXC_ERR");
  assertGreater(others.length, 0);
  assertEquals([...new Set(others)], ["WR_FLUSH_ERR"]);
  assertEquals(end.qp.query().attr.qpState, QpState.ERR);
  await broken;
  await assertRejects(() => conn.send(new Uint8Array(1)), Deno.errors.ConnectionReset);
  stop.abort();
  await all;
  // Datagrams go nowhere, and nobody is told: each send completes, and makes room for a later one.
  for (let i = 0; i < 4 * SEND_DEPTH; i++) await ud.send(Uint8Array.of(8), victim.ud, patience());
  assertEquals(ud.stats.sendErrors, 0);
  await ud.send(Uint8Array.of(9), ud.addr);
  await receiveUntil(ud, 9);
  run.count(counts.requests + counts.messages + counts.datagrams);
  Deno.writeTextFileSync(NOTICED, "");
}

/** How the second host is lost; the result brings it back when the first one has noticed. */
type Lose = () => Promise<() => Promise<void>>;

/** Taking a link down takes the IPv6 addresses away as well. */
const takeLinkDown: Lose = async () => {
  await runProgram("ip", "link", "set", NETDEV, "down");
  return async () => {
    await runProgram("ip", "link", "set", NETDEV, "up");
    await runProgram("ip", "addr", "add", "fd00::2/64", "dev", NETDEV);
  };
};

/** The kernel stops at once, and with it the machine: nothing is closed, and no packet says so. */
const stopMachine: Lose = async () => {
  await Deno.writeTextFile("/proc/sysrq-trigger", "b");
  return () => Promise.reject(new Error("Cannot go on: the machine did not stop"));
};

async function beLost(run: Run, lose: Lose): Promise<void> {
  using context = openRxe();
  const { gidIndex } = gidOf(context, "ipv4");
  await using victim = startDeno(VICTIM, [RXE, String(gidIndex)]);
  await run.session.send(await victim.hear());
  await victim.tell(await run.session.receive());
  await victim.endInput();
  await run.session.send(await victim.hear());
  await run.session.receive();
  await runProgram("rm", "-f", NOTICED);
  const comeBack = await lose();
  await untilNoticed();
  await comeBack();
}

async function untilNoticed(): Promise<void> {
  const end = Date.now() + 2 * PATIENCE_MS;
  while (Date.now() < end) {
    try {
      // It must not be removed: over a shared folder that would fail the host that is about to make it.
      await Deno.stat(NOTICED);
      return;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** Processes that are killed are those of tests/device/faults. */
const WAYS: Readonly<Record<string, Lose>> = {
  "whose link goes down": takeLinkDown,
  "whose machine stops": stopMachine,
};

/** The case that leaves no second host is the last one. */
export const loss: readonly HostCase[] = Object.entries(WAYS).map(([way, lose]) => ({
  name: `Queue pairs and connections to a host ${way} fail, and datagrams go on`,
  first: survive,
  second: (run) => beLost(run, lose),
  isLast: lose === stopMachine,
}));
