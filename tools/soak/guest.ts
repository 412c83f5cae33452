/** What the soak run does in the guest: `guest.ts MINUTES`. */

import { CmEventType } from "../../cm.ts";
import {
  AddressHandle,
  CompletionChannel,
  QpState,
  QpType,
  QueuePair,
  ReplyPath,
  type WorkQueue,
  WqState,
} from "../../mod.ts";
import { connectRc, listenRc, listenUd, type RcConn } from "../../net/mod.ts";
import { CmDevice, HOSTS } from "../../tests/device/cm/cm_device.ts";
import { importMap } from "../../tests/device/programs.ts";
import * as rxe from "../../tests/device/setup.ts";
import { slowLink } from "../../tests/device/slow_link.ts";
import {
  alive,
  Bench,
  ETHERNET_PORT,
  forget,
  hashOverIpv4,
  startAll,
} from "../../tests/device/stub.ts";
import { inProject } from "../host/paths.ts";
import { report, type Sample } from "./verdict.ts";

/** One kind of work: what it needs is made once, the step that comes back is repeated. */
type Work = (stack: AsyncDisposableStack) => Step | Promise<Step>;
type Step = () => Promise<void> | void;

const { PORT, QKEY } = rxe;
const LIST = 16;
const SLOT = 1024;
const GRH = 40;
/** Nobody waits so long, unless something is lost. */
const PATIENCE_MS = 120_000;
const PATIENT = { connectTimeout: PATIENCE_MS, keepAlive: 0 };

const LIMITS = {
  // V8 keeps compiled code and its feedback, and Workers leave free memory in pieces.
  resident: 48e6,
  // An object that is left by each call is more.
  heap: 2e6,
  // Memory that the kernel cannot reclaim. Address handles show there: the kernel does not count them.
  kernelMemory: 4e6,
  // All samples of a quarter can meet something that is open.
  kernelObjects: 2,
  stubObjects: 2,
  // Those of a Worker, and of 8 threads for calls that block, come and go.
  descriptors: 10,
  threads: 10,
};

let sent = 0;

/** A message that says which one it is. */
function message(size = 64): Uint8Array<ArrayBuffer> {
  const words = new Uint32Array(size / 4);
  const number = sent++;
  for (let i = 0; i < words.length; i++) words[i] = Math.imul(number + i, 0x9e37_79b1);
  return new Uint8Array(words.buffer);
}

function same(found: Uint8Array | null, wanted: Uint8Array): void {
  if (found?.toHex() === wanted.toHex()) return;
  throw new Error(`A message was lost, repeated or changed: ${found?.toHex()}`);
}

/** Requests by UD whose sender ReplyPath finds, and replies. */
function replies(stack: AsyncDisposableStack): Step {
  const { pd, left, right, toRight } = stack.use(rxe.udPair());
  const path = stack.use(new ReplyPath(pd, { portNum: PORT }));
  return async () => {
    const all = Array.from({ length: LIST }, () => message());
    for (const [i, bytes] of all.entries()) {
      right.qp.postRecv({ wrId: i, sge: right.mr.sge(i * SLOT, SLOT) });
      left.qp.postRecv({ wrId: LIST + i, sge: left.mr.sge((LIST + i) * SLOT, SLOT) });
      left.mr.bytes.set(bytes, i * SLOT);
      left.qp.postSend({ wrId: i, sge: left.mr.sge(i * SLOT, 64), ...toRight });
    }
    for (const wc of await rxe.waitFor(right.cq, LIST)) {
      const at = Number(wc.check().wrId) * SLOT;
      same(right.mr.bytes.subarray(at + GRH, at + wc.byteLen), all[at / SLOT]!);
      const ah = path.to(wc, right.mr.grhAt(at));
      const sge = right.mr.sge(at + GRH, 64);
      right.qp.postSend({ wrId: LIST, sge, ah, remoteQpn: wc.srcQp, remoteQkey: QKEY });
    }
    for (const wc of await rxe.waitFor(left.cq, 2 * LIST)) {
      const [at, i] = [Number(wc.check().wrId) * SLOT, Number(wc.wrId) - LIST];
      if (i >= 0) same(left.mr.bytes.subarray(at + GRH, at + wc.byteLen), all[i]!);
    }
    await rxe.waitFor(right.cq, LIST);
  };
}

async function datagrams(stack: AsyncDisposableStack): Promise<Step> {
  const [client, server] = [
    stack.use(await listenUd({ qkey: QKEY })),
    stack.use(await listenUd({ qkey: QKEY })),
  ];
  return async () => {
    const bytes = message();
    await client.send(bytes, server.addr);
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const [request, from] = await server.receive({ signal });
    await server.send(request, from);
    same((await client.receive({ signal }))[0], bytes);
  };
}

async function connected(stack: AsyncDisposableStack): Promise<RcConn[]> {
  const listener = stack.use(await listenRc({ ...PATIENT, port: 0 }));
  const { port } = listener.addr;
  const both = [connectRc({ ...PATIENT, hostname: HOSTS.IPv4, port }), listener.accept()];
  return (await Promise.all(both)).map((conn) => stack.use(conn));
}

/** Messages, and memory of the peer. */
async function connections(stack: AsyncDisposableStack): Promise<Step> {
  const [client, server] = await connected(stack) as [RcConn, RcConn];
  const memory = stack.use(await server.expose(4096));
  return async () => {
    const [bytes, written] = [message(4096), message(4096)];
    await Promise.all([client.send(bytes), client.write(memory.remote, 0, written)]);
    same(await server.receive(), bytes);
    same(await client.read(memory.remote, 0, 4096), written);
  };
}

/** Address handles in all ways. */
function handles(stack: AsyncDisposableStack): Step {
  const { pd, context } = stack.use(rxe.rxe());
  const [wc, grh] = [{ ...rxe.WITH_GRH, srcQp: 1 }, rxe.ipv4Grh(HOSTS.IPv4)];
  return async () => {
    const attr = rxe.selfAddress(context, Math.random() < 0.5 ? "ipv4" : "ipv6");
    for (let i = 0; i < LIST; i++) {
      new AddressHandle(pd, attr).close();
      AddressHandle.fromWc(pd, PORT, wc, grh).close();
    }
    (await AddressHandle.createAsync(pd, attr)).close();
  };
}

/** Tables of work queues and their queue pairs, on the stub HCA; some go with their work queue. */
function tables(stack: AsyncDisposableStack): Step {
  const bench = stack.use(new Bench(4));
  const queues: WorkQueue[] = [...bench.workQueues];
  startAll(queues);
  let made = 0;
  return () => {
    const rwqIndTbl = bench.newTable(queues);
    const rxHashConf = hashOverIpv4();
    const qp = new QueuePair(bench.pd, { qpType: QpType.RAW_PACKET, rwqIndTbl, rxHashConf });
    qp.modify({ qpState: QpState.INIT, portNum: ETHERNET_PORT });
    if (made++ % 2 === 0) return rwqIndTbl.close();
    const place = made % queues.length;
    queues[place]!.close();
    queues[place] = bench.newWq();
    queues[place].modify({ wqState: WqState.RDY });
  };
}

/** A device, and on it two queue pairs with receives posted. */
function queuePairs(): Step {
  return () => {
    for (const make of [rxe.udPair, rxe.connectedPair]) {
      using pair = make();
      for (const { qp, mr } of [pair.left, pair.right]) qp.postRecv({ sge: mr.sge(0, SLOT) });
    }
  };
}

/** An address that comes and goes. */
function addresses(stack: AsyncDisposableStack): Step {
  const { context } = stack.use(rxe.rxe());
  const change = async (action: string, isThere: boolean): Promise<void> => {
    const args = ["addr", action, "10.0.1.9/32", "dev", rxe.sysfs("parent")];
    await new Deno.Command("ip", { args }).output();
    const has = (): boolean =>
      context.queryGidTable(PORT).some(({ gid }) => `${gid}` === "::ffff:10.0.1.9");
    await rxe.until(`the change by "ip addr ${action}"`, () => has() === isThere);
  };
  return async () => {
    await change("add", true);
    await change("del", false);
  };
}

/** Calls that are aborted reject with the reason, or give their result. */
async function aborts(stack: AsyncDisposableStack): Promise<Step> {
  const slow = stack.use(await slowLink());
  const { pd, cq, context } = stack.use(rxe.rxe());
  const channel = stack.use(new CompletionChannel(context));
  const conn = stack.use(await listenUd({ qkey: QKEY }));
  const slowPd = stack.use(new rxe.OpenDevice(slow.context.device.name)).pd;
  const calls: ((signal: AbortSignal) => Promise<unknown>)[] = [
    (signal) => AddressHandle.createAsync(pd, rxe.selfAddress(context), { signal }),
    (signal) => AddressHandle.createAsync(slowPd, slow.peer, { signal }),
    (signal) => cq.completions({ signal }).next(),
    (signal) => channel.getCqEvent({ signal }),
    (signal) => conn.receive({ signal }),
  ];
  let calling = 0;
  return async () => {
    const controller = new AbortController();
    const reason = new Error("Cannot go on: the call is aborted");
    const call = calls[calling++ % calls.length]!(controller.signal);
    setTimeout(() => controller.abort(reason), calling % 3 * 10);
    const result = await call.catch((error) => {
      if (error !== reason) throw error;
    });
    if (result instanceof AddressHandle) result.close();
  };
}

/** Workers that are terminated with everything open. What they had stays until their process ends. */
function workers(): Step {
  const program = inProject("tests/device/lifetime/worker_ending.ts");
  const args = ["run", "-A", "--no-check", ...importMap(), program, "posting", "waiting"];
  return async () => {
    const { success, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
    if (!success) throw new Error(new TextDecoder().decode(stderr));
  };
}

async function join(stack: AsyncDisposableStack): Promise<Step> {
  const conn = stack.use(await listenUd({ qkey: QKEY }));
  return async () => {
    await conn.join("239.1.2.9");
    conn.leave("239.1.2.9");
  };
}

/** Requests that the server refuses. */
function refuse(stack: AsyncDisposableStack): Step {
  const bed = stack.use(new CmDevice());
  const listener = bed.listener();
  return async () => {
    using client = await bed.routed(listener);
    using qp = bed.newQp(QpType.RC);
    const asked = client.connect(qp).then(
      () => false,
      ({ event }) => event === CmEventType.REJECTED,
    );
    const { id } = await bed.request();
    id.reject();
    id.close();
    if (!await asked) throw new Error("A request was not refused");
  };
}

/** A connection by address is made and closed, and its listener with it. */
function connect(): Step {
  return async () => {
    await using stack = new AsyncDisposableStack();
    await connected(stack);
  };
}

/** All work, with the milliseconds between two steps. */
const WORK: Readonly<Record<string, readonly [work: Work, pause: number]>> = {
  replies: [replies, 5],
  datagrams: [datagrams, 2],
  connections: [connections, 5],
  handles: [handles, 50],
  tables: [tables, 30],
  queuePairs: [queuePairs, 1000],
  addresses: [addresses, 1000],
  aborts: [aborts, 200],
  workers: [workers, 5000],
  join: [join, 100],
  connect: [connect, 500],
  refuse: [refuse, 1000],
};

const minutes = Number(Deno.args[0]);
const SAMPLES = 60;
const done: Record<string, number> = {};
const faults: string[] = [];
const samples: Sample<keyof typeof LIMITS>[] = [];

function sample(): void {
  forget();
  (globalThis as unknown as { gc: () => void }).gc();
  const { rss, heapUsed, external } = Deno.memoryUsage();
  const [, kilobytes] = /^SUnreclaim: +(\d+) kB$/m.exec(Deno.readTextFileSync("/proc/meminfo"))!;
  const sum = (counts: readonly number[]): number => counts.reduce((a, b) => a + b, 0);
  const held = {
    resident: rss,
    heap: heapUsed + external,
    kernelMemory: 1024 * Number(kilobytes),
    kernelObjects: sum(Object.values(rxe.resourceCounts()).flatMap(Object.values)),
    stubObjects: sum(Object.values(alive())),
    descriptors: [...Deno.readDirSync("/proc/self/fd")].length,
    threads: [...Deno.readDirSync("/proc/self/task")].length,
  };
  samples.push({ held, done: { ...done } });
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Repeats a kind of work until the time is over. */
async function repeat(name: string, work: Work, ms: number, end: number): Promise<void> {
  try {
    await using stack = new AsyncDisposableStack();
    const step = await work(stack);
    done[name] = 0;
    while (performance.now() < end) {
      const start = performance.now();
      await step();
      done[name]!++;
      // Others have as much time, on a slow machine too.
      await pause(Math.max(ms, performance.now() - start));
    }
  } catch (error) {
    faults.push(`${name}: ${error instanceof Error ? error.stack : error}`);
  }
}

const before = JSON.stringify(rxe.resourceCounts());
const end = performance.now() + 60_000 * minutes;
const timer = setInterval(sample, 60_000 * minutes / SAMPLES);
await Promise.all(Object.entries(WORK).map(([name, [work, ms]]) => repeat(name, work, ms, end)));
clearInterval(timer);
const after = JSON.stringify(rxe.resourceCounts());
if (after !== before) faults.push(`kernel objects are left: ${after}, not ${before}`);
Deno.exit(report(samples, LIMITS, faults));
