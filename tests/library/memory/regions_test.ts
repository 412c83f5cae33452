// Kinds of memory regions, as a provider receives them, and against hostile input.
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import { AccessFlags, Context, MemoryRegion, ProtectionDomain, VerbsError } from "../../../mod.ts";
import { bufferAddress } from "../../../ffi/pointers.ts";
import { adviseMr, AdviseMrAdvice, AdviseMrFlags } from "../../../types/memory/advise_mr.ts";
import { DeviceMemory, DeviceMemoryRegion } from "../../../types/memory/device_memory.ts";
import { DmaBufMemoryRegion } from "../../../types/memory/dma_buf_memory_region.ts";
import { ImplicitMemoryRegion } from "../../../types/memory/implicit_memory_region.ts";
import { ImportedMemoryRegion, ImportedProtectionDomain } from "../../../types/memory/imports.ts";
import { assertReadable } from "../../../types/memory/memory_region.ts";
import { NullMemoryRegion } from "../../../types/memory/null_memory_region.ts";
import { onPd } from "../recorded.ts";

const { LOCAL_WRITE, REMOTE_READ, ON_DEMAND, ZERO_BASED } = AccessFlags;

/** The arguments of a call as numbers, where they are. */
function argsOf(verb: string): Record<string, bigint | string> {
  const { args } = recorder.takeOne(verb);
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [
      name,
      /^(0x[0-9a-f]+|-?\d+)$/.test(String(value)) ? BigInt(String(value)) : String(value),
    ]),
  );
}

for (const iova of [0, 0x1000, 0xffff_ffff_0000_0000n]) {
  onPd.test(`MemoryRegion has its addresses from ${iova} on`, ({ pd }) => {
    const bytes = new Uint8Array(64);
    using mr = new MemoryRegion(pd, bytes, REMOTE_READ, { iova });
    const args = argsOf("ibv_reg_mr_iova");
    assertEquals([args.addr, args.iova, args.length], [bufferAddress(bytes), BigInt(iova), 64n]);
    assertEquals([mr.addr, mr.slice(8).addr], [BigInt(iova), BigInt(iova) + 8n]);
    mr.bytes(3, 1)[0] = 7;
    assertEquals(bytes[3], 7);
    assertThrows(
      () => assertReadable(mr),
      TypeError,
      "its addresses are not those of this process",
    );
  });
}

for (
  const [what, options] of [
    ["null", null],
    ["an unknown option", { addr: 5 }],
    ["an iova that is text", { iova: "5" }],
    ["a signal, as it does not wait", { signal: AbortSignal.abort() }],
  ] as [string, object][]
) {
  onPd.test(`MemoryRegion refuses options: ${what}`, ({ pd }) => {
    assertThrows(() => new MemoryRegion(pd, 8, 0, options), TypeError, "Cannot use");
    assertEquals(recorder.take(), []);
  });
}

onPd.test("MemoryRegion.create() registers on another thread", async ({ pd }) => {
  using mr = await MemoryRegion.create(pd, 4096, LOCAL_WRITE);
  const args = argsOf("ibv_reg_mr_iova2");
  assertEquals([args.addr, args.iova, args.access], [mr.addr, mr.addr, 1n]);
  assertEquals(mr.bytes().length, 4096);
  using other = await MemoryRegion.create(pd, new Uint8Array(8), 0, { iova: 5n });
  assertEquals([other.addr, argsOf("ibv_reg_mr_iova2").iova], [5n, 5n]);
});

onPd.test("MemoryRegion.create() rejects bad arguments before it starts", async ({ pd }) => {
  const attempts = [
    () => MemoryRegion.create(pd, 0, 0),
    () => MemoryRegion.create(pd, null as never, 0),
    () => MemoryRegion.create(pd, 8, -1),
    () => MemoryRegion.create(pd, 8, 0, { signal: new AbortController() as never }),
    () => MemoryRegion.create({} as never, 8, 0),
  ];
  for (const attempt of attempts) await assertRejects(attempt, Error, "Cannot");
  pd.close();
  await assertRejects(() => MemoryRegion.create(pd, 8, 0), TypeError, "it is disposed");
  assertEquals(recorder.takeOf("ibv_reg_mr_iova2"), []);
});

onPd.test("MemoryRegion.create() fails as the constructor does", async ({ pd }) => {
  for (const verb of ["ibv_reg_mr", "ibv_reg_mr_iova2"]) recorder.fail(verb, "ENOMEM");
  const error = assertThrows(() => new MemoryRegion(pd, 8, 0), VerbsError);
  const late = await assertRejects(() => MemoryRegion.create(pd, 8, 0), VerbsError);
  assertEquals(late.message, error.message);
});

onPd.test("NullMemoryRegion has slices of any offset and no bytes", ({ pd }) => {
  using mr = new NullMemoryRegion(pd);
  assertEquals(argsOf("ibv_alloc_null_mr"), { pd: "pd0" });
  const { addr, length, lkey } = mr.slice(2 ** 40, 100);
  assertEquals([addr, length, lkey], [2n ** 40n, 100, mr.lkey]);
  for (const use of [() => mr.bytes(0, 1), () => mr.slice(0, 4).bytes, () => mr.grhAt(0)]) {
    assertThrows(use, TypeError, "its memory is not of this process");
  }
  assertThrows(() => assertReadable(mr), TypeError, "its addresses are not those of this process");
});

onPd.test("DmaBufMemoryRegion gives the provider the part of the buffer", (recorded) => {
  const init = { fd: 7, offset: 4096, length: 8192, iova: 0x10_0000_0000n, access: REMOTE_READ };
  using mr = new DmaBufMemoryRegion(recorded.pd, init);
  const { pd, fd, offset, length, iova, access } = argsOf("ibv_reg_dmabuf_mr");
  assertEquals([pd, fd, offset, length, iova], ["pd0", 7n, 4096n, 8192n, 0x10_0000_0000n]);
  assertEquals([access, mr.addr, mr.length], [BigInt(REMOTE_READ), 0x10_0000_0000n, 8192]);
  using other = new DmaBufMemoryRegion(recorded.pd, { fd: 7, offset: 64, length: 1, access: 0 });
  assertEquals([other.addr, argsOf("ibv_reg_dmabuf_mr").iova], [64n, 64n]);
});

const BAD_DMA_BUFS: [string, object][] = [
  ["no descriptor", { length: 1, access: 0 }],
  ["a negative descriptor", { fd: -1, length: 1, access: 0 }],
  ["no length", { fd: 1, access: 0 }],
  ["a length of 0", { fd: 1, length: 0, access: 0 }],
  ["no access", { fd: 1, length: 1 }],
  ["a negative offset", { fd: 1, length: 1, access: 0, offset: -1 }],
  ["an unknown attribute", { fd: 1, length: 1, access: 0, size: 1 }],
];
for (const [what, init] of BAD_DMA_BUFS) {
  onPd.test(`DmaBufMemoryRegion refuses ${what}`, ({ pd }) => {
    assertThrows(() => new DmaBufMemoryRegion(pd, init as never), Error, "Cannot use");
    assertEquals(recorder.take(), []);
  });
}

onPd.test("ImplicitMemoryRegion registers the whole address space, and allocates in it", (recorded) => {
  const { pd } = recorded;
  const mr = new ImplicitMemoryRegion(pd, LOCAL_WRITE);
  const { addr, length, access } = argsOf("ibv_reg_mr");
  assertEquals([addr, length], [0n, 2n ** 64n - 1n]);
  assertEquals(access, BigInt(LOCAL_WRITE | ON_DEMAND));
  const slices = [mr.allocate(100), mr.allocate(5000)];
  slices[0]!.bytes.fill(7);
  assertEquals(slices[1]!.bytes, new Uint8Array(5000));
  for (const slice of slices) {
    assertEquals(slice.addr, bufferAddress(slice.bytes));
    assertEquals(slice.lkey, mr.lkey);
  }
  assertThrows(() => mr.bytes(0, 1), RangeError, "the region has not allocated it");
  assertThrows(() => mr.bytes(slices[0]!.offset, 101), RangeError, "length");
  const view = slices[0]!.bytes;
  mr.close();
  assertEquals(view.length, 0);
  assertThrows(() => mr.allocate(1), TypeError, "it is disposed");
  assertThrows(() => slices[0]!.bytes, TypeError, "it is disposed");
});

onPd.test("ImplicitMemoryRegion keeps its memory when it cannot be deregistered", ({ pd }) => {
  const mr = new ImplicitMemoryRegion(pd, 0);
  const { bytes } = mr.allocate(10);
  recorder.fail("ibv_dereg_mr", "EBUSY", { times: 1 });
  assertThrows(() => mr.close(), VerbsError);
  assertEquals(bytes.length, 10);
  mr.close();
  assertEquals(bytes.length, 0);
});

onPd.test("ImportedProtectionDomain and ImportedMemoryRegion are those of the other process", (recorded) => {
  const { context, pd } = recorded;
  using mr = new MemoryRegion(pd, 4096, LOCAL_WRITE);
  {
    using other = new ImportedProtectionDomain(context, pd.handle);
    using imported = new ImportedMemoryRegion(other, mr.handle, { addr: mr.addr });
    assertEquals([imported.addr, imported.length], [mr.addr, 4096]);
    assertEquals([imported.lkey, imported.rkey], [mr.lkey, mr.rkey]);
    assertEquals(imported.slice(8).addr, mr.addr + 8n);
    assertThrows(() => imported.bytes(), TypeError, "not of this process");
  }
  const ends = recorder.take().map(({ verb }) => verb).filter((verb) =>
    /dereg|dealloc|unimp/.test(verb)
  );
  assertEquals(ends, ["ibv_unimport_mr", "ibv_unimport_pd"]);
  assertEquals(mr.disposed, false);
});

onPd.test("ImportedProtectionDomain and ImportedMemoryRegion refuse what is not there", (recorded) => {
  const { context, pd } = recorded;
  const error = assertThrows(() => new ImportedProtectionDomain(context, 9999), VerbsError);
  assertEquals([error.verb, error.code], ["ibv_import_pd", "ENOENT"]);
  assertThrows(() => new ImportedMemoryRegion(pd, 9999, { addr: 0 }), VerbsError, "ENOENT");
  assertThrows(() => new ImportedProtectionDomain(pd as never, 1), TypeError, "not a Context");
  assertThrows(() => new ImportedProtectionDomain(context, -1), RangeError, "handle");
  assertThrows(() => new ImportedMemoryRegion(pd, 1, {} as never), TypeError, "addr");
  assertThrows(() => new ImportedMemoryRegion(pd, 2 ** 32, { addr: 0 }), RangeError, "handle");
});

onPd.test("DeviceMemory copies bytes in and out, and is freed after its regions", (recorded) => {
  const { context, pd } = recorded;
  const dm = new DeviceMemory(context, { length: 256, logAlignReq: 3 });
  const { fields } = recorder.takeOne("ibv_alloc_dm").args.attr as {
    fields: Record<string, unknown>;
  };
  assertEquals([fields.length, fields.log_align_req, fields.comp_mask].map(Number), [256, 3, 0]);
  const bytes = Uint8Array.from({ length: 64 }, (_, i) => i);
  dm.memcpyTo(128, bytes);
  assertEquals(dm.memcpyFrom(128, 64), bytes);
  assertEquals(dm.memcpyFrom(0, 4), new Uint8Array(4));
  const mr = new DeviceMemoryRegion(pd, dm, { dmOffset: 64, length: 32, access: ZERO_BASED });
  const args = argsOf("ibv_reg_dm_mr");
  assertEquals([args.dm, args.dm_offset, args.length], ["dm0", 64n, 32n]);
  assertEquals([mr.addr, mr.length, mr.slice(4).addr], [0n, 32, 4n]);
  using rest = new DeviceMemoryRegion(pd, dm, { dmOffset: 200, access: 0 });
  assertEquals(rest.length, 56);
  dm.close();
  assertEquals([mr.disposed, rest.disposed], [true, true]);
  assertEquals(Deno.inspect(dm), "DeviceMemory { disposed }");
});

onPd.test("DeviceMemory refuses what is not within it, before native code is reached", (recorded) => {
  const { context, pd } = recorded;
  using dm = new DeviceMemory(context, { length: 64 });
  recorder.take();
  const ranges = [[0, 65], [64, 1], [-1, 1], [65, 0], [0, -1]] as const;
  for (const [offset, length] of ranges) {
    assertThrows(() => dm.memcpyFrom(offset, length), RangeError);
    if (length >= 0) assertThrows(() => dm.memcpyTo(offset, new Uint8Array(length)), RangeError);
  }
  for (const bytes of [null, "abc", 5, new ArrayBuffer(8), [1, 2]]) {
    assertThrows(() => dm.memcpyTo(0, bytes as never), TypeError, "it is not a Uint8Array");
  }
  const lying = new Uint8Array(100);
  Object.defineProperty(lying, "length", { get: () => 4 });
  assertThrows(() => dm.memcpyTo(0, lying), RangeError);
  for (
    const init of [{ dmOffset: 65, access: 0 }, { length: 65, access: 0 }, { length: 0, access: 0 }]
  ) {
    assertThrows(() => new DeviceMemoryRegion(pd, dm, init), RangeError);
  }
  assertThrows(() => new DeviceMemoryRegion(pd, {} as never, { access: 0 }), TypeError);
  assertThrows(() => new DeviceMemoryRegion(pd, dm, { acces: 0 } as never), TypeError);
  for (const attr of [null, {}, { length: 0 }, { length: 8, logAlignReq: 64 }, { size: 8 }]) {
    assertThrows(() => new DeviceMemory(context, attr as never), Error, "Cannot use");
  }
  assertEquals(recorder.take(), []);
});

onPd.test("DeviceMemory refuses memory of another context for a region", ({ pd }) => {
  using other = Context.open("recorder0");
  using dm = new DeviceMemory(other, { length: 64 });
  assertThrows(
    () => new DeviceMemoryRegion(pd, dm, { access: 0 }),
    TypeError,
    "dm belongs to another context",
  );
});

onPd.test("DeviceMemory.import() leaves the memory to the process that allocated it", (recorded) => {
  const { context } = recorded;
  using dm = new DeviceMemory(context, { length: 64 });
  {
    using imported = DeviceMemory.import(context, dm.handle, 64);
    assertEquals(imported.length, 64);
  }
  assertEquals(recorder.takeOf("ibv_free_dm", "ibv_unimport_dm").map(({ verb }) => verb), [
    "ibv_unimport_dm",
  ]);
  assertThrows(() => DeviceMemory.import(context, 9999, 64), VerbsError, "ENOENT");
});

const LACKING: [string, (recorded: { context: Context; pd: ProtectionDomain }) => unknown][] = [
  ["alloc_null_mr", ({ pd }) => new NullMemoryRegion(pd)],
  ["alloc_dm", ({ context }) => new DeviceMemory(context, { length: 8 })],
  ["advise_mr", ({ pd }) => adviseMr(pd, AdviseMrAdvice.PREFETCH, 0, [])],
];
for (const [op, use] of LACKING) {
  Deno.test(`What needs ${op} is not supported when the provider lacks it`, () => {
    recorder.reset();
    recorder.lack(op);
    using context = Context.open("recorder0");
    using pd = new ProtectionDomain(context);
    const error = assertThrows(() => use({ context, pd }), VerbsError);
    assert(error.notSupported);
  });
}

onPd.test("adviseMr() gives the provider the parts", ({ pd }) => {
  using mr = new MemoryRegion(pd, 8192, ON_DEMAND);
  recorder.take();
  const sges = [mr.slice(0, 100), { addr: 5n, length: 6, lkey: 7 }];
  adviseMr(pd, AdviseMrAdvice.PREFETCH_WRITE, AdviseMrFlags.FLUSH, sges);
  const { args } = recorder.takeOne("ibv_advise_mr");
  assertEquals([args.pd, args.advice, args.flags, args.num_sge].map(String), [
    "pd0",
    "1",
    "1",
    "2",
  ]);
  const { elements } = args.sg_list as { elements: readonly Readonly<Record<string, unknown>>[] };
  assertEquals(
    elements.map(({ addr, length, lkey }) => [addr, length, lkey].map(String)),
    [["mr0+0", "100", String(mr.lkey)], ["5", "6", "7"]],
  );
});

onPd.test("adviseMr() refuses bad arguments before native code is reached", ({ pd }) => {
  using mr = new MemoryRegion(pd, 64, 0);
  const slice = mr.slice(0);
  mr.close();
  recorder.take();
  assertThrows(() => adviseMr(pd, 0, 0, [slice]), TypeError, "it is disposed");
  assertThrows(() => adviseMr({} as never, 0, 0, []), TypeError, "not a ProtectionDomain");
  for (const sges of [null, {}, "x", [null], [{}], [{ addr: 1n, length: 1, lkey: 1, x: 1 }]]) {
    assertThrows(() => adviseMr(pd, 0, 0, sges as never), TypeError, "Cannot use");
  }
  assertThrows(() => adviseMr(pd, -1 as never, 0, []), RangeError, "advice");
  assertThrows(() => adviseMr(pd, 0, 2 ** 32, []), RangeError, "flags");
  assertEquals(recorder.take(), []);
});
