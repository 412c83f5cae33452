// Calls the functions that snippets of the documents declare.

import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { stub } from "@std/testing/mock";
import {
  AccessFlags,
  AddressHandle,
  CompletionQueue,
  Context,
  Grh,
  MemoryRegion,
  ProtectionDomain,
  type QpAddress,
  QpState,
  QpType,
  QueuePair,
  type RecvRequest,
  RecvRequestList,
  ReplyPath,
  type RwqIndirectionTable,
  SharedReceiveQueue,
  WcOpcode,
  type WorkCompletionList,
} from "../../../mod.ts";
import { listenSrd } from "../../../net/mod.ts";
import {
  gidOf,
  makeEnd,
  pairOf,
  PORT,
  QKEY,
  RXE,
  rxe,
  selfAddress,
  udPair,
  until,
  waitFor,
} from "../setup.ts";
import { STUB, writeStub } from "../stub.ts";
import { bindEfa } from "../../../ffi/efa.ts";

// It stays open, as libibverbs does.
bindEfa();

/** Receives into each of the receives. */
async function fill({ fill }: {
  fill(qp: QueuePair, mr: MemoryRegion, size: number, n: number): RecvRequestList;
}): Promise<void> {
  using pair = udPair();
  const { left, right } = pair;
  assertEquals(fill(right.qp, right.mr, 128, 3).capacity, 3);
  const to = { ...pair.toRight, sge: left.mr.slice(0, 8) };
  left.qp.postSend([to, to, to]);
  const received = await waitFor(right.cq, 3);
  assertEquals(received.map((wc) => wc.check().wrId), [0n, 128n, 256n]);
  await waitFor(left.cq, 3);
}

/** Sends to a server whose address came as JSON. */
async function handleOf({ handleOf }: {
  handleOf(pd: ProtectionDomain, server: QpAddress): Promise<AddressHandle>;
}): Promise<void> {
  using pair = pairOf((pd) => {
    const end = makeEnd(pd, QpType.UD);
    const { gidIndex } = gidOf(pd.context, "ipv4");
    end.qp.activateUd({ portNum: PORT, qkey: QKEY, gidIndex });
    return end;
  });
  const { left, right } = pair;
  right.qp.postRecv({ wrId: 5, sge: right.mr.slice(0, 100) });
  const server = JSON.parse(JSON.stringify(right.qp.address)) as QpAddress;
  using ah = await handleOf(pair.pd, server);
  left.qp.postSend({ sge: left.mr.slice(0, 8), ah, remoteQpn: server.qpn, remoteQkey: QKEY });
  const [wc] = await waitFor(right.cq);
  assertEquals([wc!.check().wrId, wc!.srcQp], [5n, left.qp.qpNum]);
  await waitFor(left.cq);
}

/** Sends more messages than there are receives: each that was read is posted again. */
async function keepFilled({ keepFilled }: {
  keepFilled(
    context: Context,
    srq: SharedReceiveQueue,
    free: RecvRequest[],
    signal: AbortSignal,
  ): Promise<void>;
}): Promise<void> {
  const device = rxe();
  using _ = device;
  const { context, pd } = device;
  const srq = new SharedReceiveQueue(pd, { maxWr: 4 });
  const [left, right] = [
    makeEnd(pd, QpType.RC),
    makeEnd(pd, QpType.RC, { srq, cap: { maxSendWr: 1 } }),
  ];
  const { gidIndex } = gidOf(context, "ipv4");
  for (const { qp } of [left, right]) qp.init({ portNum: PORT, gidIndex });
  right.qp.activateRc(left.qp.address);
  left.qp.activateRc(right.qp.address, { rnrRetry: 1 });
  const free: RecvRequest[] = [0, 1, 2, 3].map((i) => ({ wrId: i, sge: right.mr.slice(i, 1) }));
  const [receives, ending] = [[...free], new AbortController()];
  const filled = keepFilled(context, srq, free, ending.signal);
  for (let i = 0; i < 12; i++) {
    left.qp.postSend({ sge: left.mr.slice(0, 1) });
    free.push(receives[Number((await waitFor(right.cq))[0]!.check().wrId)]!);
    await until("a receive or a limit", () => srq.query().srqLimit === 2 || free.length === 0);
  }
  ending.abort();
  await filled.catch(() => {});
}

interface Server {
  readonly qp: QueuePair;
  readonly recvCq: CompletionQueue;
  readonly sendCq: CompletionQueue;
  readonly mr: MemoryRegion;
  readonly path: ReplyPath;
}

const SLOT = Grh.SIZE + 1024;
const SLOTS = 4;

/** Lets two clients send more messages than there are slots. */
async function makeServe({ makeServe }: {
  makeServe(server: Server): () => void;
}): Promise<void> {
  using pair = udPair();
  const { context, pd } = pair;
  const recvCq = new CompletionQueue(context, { cqe: SLOTS });
  const sendCq = new CompletionQueue(context, { cqe: SLOTS });
  const cap = { maxSendWr: SLOTS, maxRecvWr: SLOTS };
  const qp = new QueuePair(pd, { type: QpType.UD, sendCq, recvCq, cap });
  qp.activateUd({ portNum: PORT, qkey: QKEY });
  const mr = new MemoryRegion(pd, SLOTS * SLOT, AccessFlags.LOCAL_WRITE);
  for (let i = 0; i < SLOTS; i++) qp.postRecv({ wrId: i * SLOT, sge: mr.slice(i * SLOT, SLOT) });
  const path = new ReplyPath(pd, { portNum: PORT, maxPeers: 64 });
  const serve = makeServe({ qp, recvCq, sendCq, mr, path });
  using ah = new AddressHandle(pd, selfAddress(context));
  for (let i = 0; i < 2 * SLOTS; i++) {
    const client = i % 2 === 0 ? pair.left : pair.right;
    client.qp.postRecv({ sge: client.mr.slice(0, SLOT) });
    const sge = client.mr.slice(2 * SLOT, 8);
    sge.bytes.fill(i + 1);
    client.qp.postSend({ sge, ah, remoteQpn: qp.qpNum, remoteQkey: QKEY });
    await waitFor(client.cq);
    await until("the reply has come", () => (serve(), client.mr.bytes(Grh.SIZE, 1)[0] === i + 1));
    const [reply] = await waitFor(client.cq);
    assertEquals([reply!.check().srcQp, reply!.byteLen], [qp.qpNum, Grh.SIZE + 8]);
  }
}

/** Opens a device, and one that does not exist. */
function open({ open }: {
  open(name: string): Context | undefined;
}): void {
  using error = stub(console, "error");
  {
    using context = open(RXE);
    assertEquals(context?.device.name, RXE);
  }
  assertThrows(() => open("none"), Deno.errors.NotFound);
  assertEquals(error.calls, []);
}

/** Makes a queue pair ready. */
function ready({ ready }: {
  ready(qp: QueuePair): void;
}): void {
  using pair = pairOf((pd) => makeEnd(pd, QpType.UD));
  ready(pair.left.qp);
  assertEquals(pair.left.qp.query().attr.qpState, QpState.RTS);
}

const ROOM = Grh.SIZE + 8;
const CAPACITY = 3;
const MESSAGES = 8; // more than there are receives: they are posted again, past the end of the list

/** Receives more messages than there are receives. */
async function receive({ receive }: {
  receive(
    cq: CompletionQueue,
    qp: QueuePair,
    receives: RecvRequestList,
    handle: (batch: WorkCompletionList, index: number) => void,
    stop: AbortSignal,
  ): Promise<void>;
}): Promise<void> {
  using pair = udPair();
  const { left, right } = pair;
  const receives = new RecvRequestList({ capacity: CAPACITY });
  for (let i = 0; i < CAPACITY; i++) {
    receives.set(i, { wrId: i, sge: right.mr.slice(i * ROOM, ROOM) });
  }
  right.qp.postRecv(receives);
  const got: number[] = [];
  const stop = new AbortController();
  const handle = (batch: WorkCompletionList, i: number): number => got.push(batch.wrIdLow(i));
  const receiving = receive(right.cq, right.qp, receives, handle, stop.signal);
  const to = { ...pair.toRight, sge: left.mr.slice(0, 8) };
  for (let sent = 1; sent <= MESSAGES; sent++) {
    left.qp.postSend(to);
    await waitFor(left.cq);
    await until(`message ${sent} is handled`, () => got.length === sent);
  }
  stop.abort();
  await receiving;
  assertEquals(got, Array.from({ length: MESSAGES }, (_, i) => i % CAPACITY));
}

/** Sends a datagram to a queue pair that replies. */
async function reply({ reply }: {
  reply(qp: QueuePair, cq: CompletionQueue, mr: MemoryRegion): void | Promise<void>;
}): Promise<void> {
  using pair = udPair();
  const { left, right } = pair;
  // The snippet may poll without a pause, so the message is sent before it posts its receive.
  right.qp.postRecv({ sge: right.mr.slice(0, Grh.SIZE + 1024) });
  left.qp.postRecv({ sge: left.mr.slice(0, Grh.SIZE + 1024) });
  const sge = left.mr.slice(2048, 5);
  sge.bytes.set(new TextEncoder().encode("hello"));
  left.qp.postSend({ ...pair.toRight, sge });
  await reply(right.qp, right.cq, right.mr);
  const answer = (await waitFor(left.cq, 2)).find(({ opcode }) => opcode === WcOpcode.RECV)!;
  const text = left.mr.bytes(Grh.SIZE, answer.byteLen - Grh.SIZE);
  assertEquals([answer.srcQp, new TextDecoder().decode(text)], [right.qp.qpNum, "hello"]);
  await waitFor(right.cq); // the handle of the reply is destroyed
}

/** Prints the completions of two sends. */
async function serve({ serve }: {
  serve(cq: CompletionQueue, signal: AbortSignal): Promise<void>;
}): Promise<void> {
  using pair = udPair();
  const { left } = pair;
  using log = stub(console, "log");
  const stop = new AbortController();
  const serving = serve(left.cq, stop.signal);
  const to = { ...pair.toRight, sge: left.mr.slice(0, 8) };
  left.qp.postSend([{ ...to, wrId: 7 }, { ...to, wrId: 8 }]);
  await until("both completions are printed", () => log.calls.length === 2);
  assertEquals(log.calls.map(({ args }) => args), [[7n], [8n]]);
  stop.abort(new Error("enough"));
  await assertRejects(() => serving, Error, "enough");
}

/** Makes a table of work queues. */
function tableOf({ tableOf }: {
  tableOf(pd: ProtectionDomain, cq: CompletionQueue): RwqIndirectionTable;
}): void {
  using context = Context.open(STUB);
  using pd = new ProtectionDomain(context);
  using cq = new CompletionQueue(context, { cqe: 255 });
  assertEquals(tableOf(pd, cq).size, 4);
}

/** Asks a server on an Elastic Fabric Adapter. */
async function efaEcho({ echo }: {
  echo(qkey: number, closing: AbortSignal): Promise<void>;
}): Promise<void> {
  writeStub("efa", "on");
  try {
    using log = stub(console, "log");
    const closing = new AbortController();
    const serving = echo(QKEY, closing.signal);
    await until("the address is printed", () => log.calls.length === 1);
    await using client = await listenSrd({ qkey: QKEY });
    await client.send(Uint8Array.of(1, 2), JSON.parse(log.calls[0]!.args[0]));
    assertEquals((await client.receive())[0], Uint8Array.of(1, 2));
    closing.abort();
    await serving;
  } finally {
    writeStub("efa", "off");
  }
}

/** By the names that documents give them. */
export const CALLERS: Readonly<Record<string, (snippet: never) => unknown>> = {
  efa_echo: efaEcho,
  fill,
  handle_of: handleOf,
  keep_filled: keepFilled,
  make_serve: makeServe,
  open,
  ready,
  receive,
  reply,
  serve,
  table_of: tableOf,
};
