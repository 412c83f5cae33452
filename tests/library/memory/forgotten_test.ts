// What native code may still use when nothing in the program refers to it: the garbage collector must leave it.
import * as recorder from "../../provider/recorder.ts";
import { comparable } from "../../provider/records.ts";
import { assert, assertEquals, assertGreater } from "@std/assert";
import {
  AddressHandle,
  CompletionQueue,
  Context,
  Gid,
  Grh,
  initAhFromWcAsync,
  MemoryRegion,
  ProtectionDomain,
  QpType,
  QueuePair,
  reregMr,
  resolveEthL2FromGidAsync,
} from "../../../mod.ts";

import { NAMES, ObjectSet } from "../registry/object_set.ts";

const WC = { wcFlags: 0, slid: 7, sl: 1, dlidPathBits: 0 };
const GRH = new Uint8Array(40).fill(0x22);
const ROUTE = { dgid: Gid.parse("fe80::1"), sgidIndex: 0, flowLabel: 5 };
/** Longer than the collector needs. */
const DELAY_MS = 60;

/** A call on another thread, by the verb that it makes there. */
const CALLS: Readonly<Record<string, (pd: ProtectionDomain) => Promise<unknown>>> = {
  ibv_create_ah: (pd) => AddressHandle.createAsync(pd, { portNum: 1, dlid: 7, grh: { ...ROUTE } }),
  ibv_init_ah_from_wc: ({ context }) => initAhFromWcAsync(context, 1, { ...WC }, new Grh(GRH)),
  ibv_resolve_eth_l2_from_gid: ({ context }) =>
    resolveEthL2FromGidAsync(context, { portNum: 1, grh: { ...ROUTE } }),
  ibv_reg_mr_iova2: (pd) => MemoryRegion.createAsync(pd, new Uint8Array(4096).fill(0x33), 1),
};

/** What a verb is given when its caller forgets everything right after the call, with or without a collection. */
async function given(verb: string, collects: boolean): Promise<unknown> {
  recorder.reset();
  using context = Context.open("recorder0");
  const pd = new ProtectionDomain(context);
  recorder.take();
  if (collects) recorder.delay(verb, DELAY_MS);
  CALLS[verb]!(pd).catch(() => {});
  if (collects) {
    (globalThis as unknown as { gc: () => void }).gc();
    // What was freed is written over.
    const garbage = Array.from({ length: 2000 }, (_, i) => new Uint8Array(8 + i % 256).fill(0xee));
    (globalThis as unknown as { gc: () => void }).gc();
    assert(garbage.length > 0);
  }
  await new Promise((resolve) => setTimeout(resolve, 2 * DELAY_MS));
  return comparable(recorder.takeOf(verb));
}

for (const verb of Object.keys(CALLS)) {
  Deno.test(`${verb} on another thread gets its arguments when all is forgotten and collected`, async () => {
    const expected = await given(verb, false);
    assertEquals((expected as unknown[]).length, 1);
    assertEquals(await given(verb, true), expected);
    assertEquals(recorder.violations(), []);
  });
}

/** Makes an object of each kind with work posted on it, and forgets them. */
function makeAndForget(waits: boolean): WeakRef<object>[] {
  const set = new ObjectSet();
  for (const name of NAMES) void set[name];
  const { ud, wq, srq, mr, userMr, ah, cq, context } = set;
  for (const queue of [ud, wq, srq]) queue.postRecv({ sge: userMr.sge(0, 64) });
  ud.postSend({ sge: mr.sge(0, 32), ah, remoteQpn: 1, remoteQkey: 1 });
  if (waits) {
    cq.completions().next().catch(() => {});
    context.events().next().catch(() => {});
  }
  return set.resources.map(([, resource]) => new WeakRef(resource));
}

async function collect(): Promise<void> {
  for (let i = 0; i < 5; i++) {
    (globalThis as unknown as { gc: () => void }).gc();
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** The context is open until the end of the program, and keeps all that was made from it. Nothing is destroyed. */
async function forgetWith(waits: boolean): Promise<void> {
  recorder.reset();
  const made = makeAndForget(waits);
  assert(made.length > 30);
  // Posting remembers the objects that it checked last.
  makeAndForget(false);
  const live = recorder.live();
  await collect();
  assertEquals(recorder.live(), live);
  assertEquals(made.filter((resource) => resource.deref() === undefined), []);
  for (const status of [0, 5, 12]) recorder.complete("cq0", { wr_id: 1n, status, opcode: 128 });
  recorder.sendCqEvent("cq0");
  for (const name of ["cq0", "qp0", "wq0", "srq0"]) recorder.sendAsyncEvent(0, name);
  await collect();
  assertEquals(recorder.live(), live);
  assertEquals(recorder.violations(), []);
  recorder.hangUp();
  recorder.reset();
}

for (const waits of [false, true]) {
  Deno.test({
    name: `Objects that are forgotten with work posted live on, ${
      waits ? "with" : "without"
    } waits`,
    // The waits that are forgotten never end.
    sanitizeOps: false,
    sanitizeResources: false,
    fn: () => forgetWith(waits),
  });
}

/** Makes and disposes so many completion queues and queue pairs in one turn of the event loop. */
function makeInOneTurn(context: Context, count: number): void {
  using pd = new ProtectionDomain(context);
  const [type, cap] = [QpType.UD, { maxSendWr: 1, maxRecvWr: 1 }] as const;
  for (let i = 0; i < count; i++) {
    using cq = new CompletionQueue(context, { cqe: 1, channel: null });
    using _qp = new QueuePair(pd, { qpType: type, sendCq: cq, recvCq: cq, cap });
    if (i % 100 === 0) recorder.take();
  }
}

function heapInUse(): number {
  (globalThis as unknown as { gc: () => void }).gc();
  return Deno.memoryUsage().heapUsed;
}

Deno.test("Objects that are disposed keep no memory while the turn of the event loop goes on", () => {
  recorder.reset();
  using context = Context.open("recorder0");
  makeInOneTurn(context, 1000);
  const before = heapInUse();
  makeInOneTurn(context, 2000);
  assertGreater(400_000, heapInUse() - before);
});

/** Makes three and disposes them, the one in the middle not last. */
function disposeSiblings(context: Context): [kept: ProtectionDomain, others: WeakRef<object>[]] {
  const [older, kept, newer] = [0, 1, 2].map(() => new ProtectionDomain(context));
  for (const pd of [older!, kept!, newer!]) pd.close();
  return [kept!, [new WeakRef(older!), new WeakRef(newer!)]];
}

Deno.test("An object that is disposed does not keep its siblings that were disposed", async () => {
  recorder.reset();
  using context = Context.open("recorder0");
  const [kept, others] = disposeSiblings(context);
  await collect();
  assertEquals(others.map((pd) => pd.deref()), [undefined, undefined]);
  assertEquals(kept.disposed, true);
});

/** Registers two buffers of the caller one after the other in the same region. */
function registerTwo(context: Context): [WeakRef<MemoryRegion>, WeakRef<ArrayBuffer>[]] {
  const sources = [new Uint8Array(64), new Uint8Array(64)] as const;
  const mr = new MemoryRegion(new ProtectionDomain(context), sources[0], 1);
  const changed = reregMr(mr, { source: sources[1] });
  return [new WeakRef(changed), sources.map(({ buffer }) => new WeakRef(buffer))];
}

Deno.test("A buffer of the caller is kept while it is registered, and no longer", async () => {
  recorder.reset();
  const [, buffers] = registerTwo(Context.open("recorder0"));
  await collect();
  assertEquals(buffers.map((buffer) => buffer.deref() !== undefined), [false, true]);
  const [, closed] = (() => {
    using context = Context.open("recorder0");
    return registerTwo(context);
  })();
  await collect();
  assertEquals(closed.map((buffer) => buffer.deref()), [undefined, undefined]);
});
