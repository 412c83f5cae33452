// The memory of regions: which sources are taken, which parts can be reached, and what abandoned calls leave.
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { stub } from "@std/testing/mock";
import * as recorder from "../../provider/recorder.ts";
import { AccessFlags, MemoryRegion, type MemorySource, reregMr, VerbsError } from "../../../mod.ts";
import { bufferAddress } from "../../../ffi/pointers.ts";
import { NativeMemory } from "../../../ffi/native_memory.ts";
import { onPd, openRecorder } from "../recorded.ts";

const { LOCAL_WRITE } = AccessFlags;

/** Counts how often memory of regions is freed. */
function countFrees(): Disposable & { readonly calls: readonly unknown[] } {
  const { free } = NativeMemory.prototype;
  return stub(NativeMemory.prototype, "free", function (this: NativeMemory): void {
    free.call(this);
  });
}

function detached(): ArrayBuffer {
  const buffer = new ArrayBuffer(16);
  buffer.transfer();
  return buffer;
}

const REFUSED: readonly (readonly [MemorySource, string])[] = [
  [new ArrayBuffer(0), "Cannot register memory: the buffer is empty"],
  [new Uint8Array(8).subarray(3, 3), "Cannot register memory: the buffer is empty"],
  [new ArrayBuffer(8, { maxByteLength: 16 }), "Cannot register memory: the buffer is resizable"],
  [
    detached(),
    "Cannot register memory: the source is neither a length nor a buffer that is attached",
  ],
];

for (const [source, message] of REFUSED) {
  onPd.test(`MemoryRegion refuses memory: "${message}" of ${source.constructor.name}`, ({ pd }) => {
    const error = assertThrows(() => new MemoryRegion(pd, source, LOCAL_WRITE), Error);
    assertEquals(error.message, message);
    assertEquals(recorder.take(), []);
  });
}

onPd.test("MemoryRegion registers the part of the buffer that a view shows", ({ pd }) => {
  const buffer = new ArrayBuffer(64);
  const views = [new Uint8Array(buffer, 8, 16), new DataView(buffer, 8, 16)];
  for (const view of views) {
    using mr = new MemoryRegion(pd, view, LOCAL_WRITE);
    assertEquals([mr.addr, mr.length], [bufferAddress(buffer) + 8n, 16]);
    mr.sge(1, 2).bytes.set([7, 8]);
    assertEquals([...new Uint8Array(buffer, 9, 2)], [7, 8]);
  }
});

onPd.test("MemoryRegion.sge() stays within its region, to the byte", ({ pd }) => {
  using mr = new MemoryRegion(pd, 100, LOCAL_WRITE);
  const slice = mr.sge(60);
  assertEquals([slice.addr, slice.length, slice.lkey], [mr.addr + 60n, 40, mr.lkey]);
  assertEquals(mr.sge(60, 40).bytes.length, 40);
  assertEquals(mr.sge(100, 0).length, 0);
  for (const [offset, length] of [[60, 41], [101, 0], [-1, 1], [0.5, 1]] as const) {
    assertThrows(() => mr.sge(offset, length), Error, "Cannot use");
    assertThrows(() => mr.sge(offset, length).bytes, Error, "Cannot use");
  }
});

onPd.test("MemoryRegion refuses its memory when the buffer is detached", ({ pd }) => {
  using mr = new MemoryRegion(pd, 64, LOCAL_WRITE);
  const slice = mr.sge(0, 8);
  const moved = mr.bytes.buffer.transfer();
  const message = "Cannot use memory region: its buffer is detached";
  assertThrows(() => mr.bytes, TypeError, message);
  assertThrows(() => slice.bytes, TypeError, message);
  assertThrows(() => mr.sge(0, 8), TypeError, message);
  mr.close();
  assertEquals(moved.byteLength, 64);
});

onPd.test("A buffer cannot be transferred once it is registered, a SharedArrayBuffer is taken as it is", async (recorded) => {
  const { pd } = recorded;
  const makers: readonly ((bytes: Uint8Array) => MemoryRegion | Promise<MemoryRegion>)[] = [
    (bytes) => new MemoryRegion(pd, bytes, LOCAL_WRITE),
    ({ buffer }) => new MemoryRegion(pd, buffer, 0),
    (bytes) => MemoryRegion.createAsync(pd, bytes, LOCAL_WRITE),
    (source) => reregMr(new MemoryRegion(pd, 64, LOCAL_WRITE), { source }),
  ];
  for (const [i, make] of makers.entries()) {
    const bytes = new Uint8Array(64);
    const mr = await make(bytes);
    assertThrows(() => bytes.buffer.transfer(), TypeError, "not detachable", String(i));
    mr.close();
    const shared = await make(new Uint8Array(new SharedArrayBuffer(64)));
    assertEquals(shared.length, 64);
  }
});

onPd.test("MemoryRegion takes the memory of a WebAssembly.Memory only if that is shared", async (recorded) => {
  const { pd } = recorded;
  const message = "the buffer belongs to a WebAssembly.Memory";
  const { buffer } = new WebAssembly.Memory({ initial: 1 });
  assertThrows(() => new MemoryRegion(pd, buffer, LOCAL_WRITE), TypeError, message);
  await assertRejects(() => MemoryRegion.createAsync(pd, buffer, LOCAL_WRITE), TypeError, message);
  assertEquals(recorder.takeOf("ibv_reg_mr", "ibv_reg_mr_iova2"), []);
  const shared = new WebAssembly.Memory({ initial: 1, maximum: 2, shared: true });
  using mr = new MemoryRegion(pd, shared.buffer, LOCAL_WRITE);
  shared.grow(1);
  assertEquals(mr.bytes.length, 65536);
});

for (const isRefused of [false, true]) {
  const does = isRefused ? "keeps what cannot be deregistered" : "deregisters and frees memory";
  Deno.test(`MemoryRegion.createAsync() ${does} after its signal aborts`, async () => {
    const recorded = openRecorder();
    using frees = countFrees();
    if (isRefused) recorder.fail("ibv_dereg_mr", "EBUSY");
    const controller = new AbortController();
    const { signal } = controller;
    const made = MemoryRegion.createAsync(recorded.pd, 64, LOCAL_WRITE, { signal });
    controller.abort(new Error("enough"));
    await assertRejects(() => made, Error, "enough");
    while (recorder.takeOf("ibv_dereg_mr").length === 0) await new Promise((r) => setTimeout(r, 1));
    assertEquals([recorder.live("mr"), frees.calls.length], isRefused ? [1, 0] : [0, 1]);
    if (isRefused) assertThrows(() => recorded.context.close(), VerbsError);
    else recorded[Symbol.dispose]();
  });
}
