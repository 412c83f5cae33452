// Kinds of memory regions, as a provider receives them, and against hostile input.
import { assertEquals, assertThrows } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import { AccessFlags, MemoryRegion, ProtectionDomain, VerbsError } from "../../../mod.ts";
import { bufferAddress } from "../../../ffi/pointers.ts";
import { DeviceMemory, DeviceMemoryRegion } from "../../../types/memory/device_memory.ts";
import { DmaBufMemoryRegion, NullMemoryRegion } from "../../../types/memory/foreign_regions.ts";
import { ImplicitMemoryRegion } from "../../../types/memory/implicit_memory_region.ts";
import { regionCore } from "../../../types/memory/memory_region.ts";
import { onPd } from "../recorded.ts";
import { assertRefused, bad } from "../refusals.ts";

const { LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, ON_DEMAND, ZERO_BASED } = AccessFlags;

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
    assertEquals([mr.addr, mr.sge(8).addr], [BigInt(iova), BigInt(iova) + 8n]);
    mr.sge(3, 1).bytes[0] = 7;
    assertEquals(bytes[3], 7);
    assertThrows(() => regionCore(mr).assertReadable(), TypeError, "are not those of this process");
  });
}

onPd.test("MemoryRegion.createAsync() registers on another thread", async ({ pd }) => {
  using mr = await MemoryRegion.createAsync(pd, 4096, LOCAL_WRITE);
  const args = argsOf("ibv_reg_mr_iova2");
  assertEquals([args.addr, args.iova, args.access], [mr.addr, mr.addr, 1n]);
  assertEquals(mr.bytes.length, 4096);
  using other = await MemoryRegion.createAsync(pd, new Uint8Array(8), 0, { iova: 5n });
  assertEquals([other.addr, argsOf("ibv_reg_mr_iova2").iova], [5n, 5n]);
});

onPd.test("NullMemoryRegion has slices of any offset and no bytes", ({ pd }) => {
  using mr = new NullMemoryRegion(pd);
  assertEquals(argsOf("ibv_alloc_null_mr"), { pd: "pd0" });
  const { addr, length, lkey } = mr.sge(2 ** 40, 100);
  assertEquals([addr, length, lkey], [2n ** 40n, 100, mr.lkey]);
  for (const use of [() => mr.bytes, () => mr.sge(0, 4).bytes, () => mr.grhAt(0)]) {
    assertThrows(use, TypeError, "its memory is not of this process");
  }
  assertThrows(() => regionCore(mr).assertReadable(), TypeError, "are not those of this process");
});

onPd.test("DmaBufMemoryRegion has the addresses that it is given, or those from its offset on", ({ pd }) => {
  const init = { fd: 7, length: 8192, access: REMOTE_READ };
  using mr = new DmaBufMemoryRegion(pd, { ...init, offset: 4096, iova: 0x10_0000_0000n });
  assertEquals([mr.addr, mr.length], [0x10_0000_0000n, 8192]);
  recorder.take();
  using other = new DmaBufMemoryRegion(pd, { ...init, offset: 64 });
  assertEquals([other.addr, argsOf("ibv_reg_dmabuf_mr").iova], [64n, 64n]);
});

onPd.test("DmaBufMemoryRegion names what was refused", ({ pd }) => {
  const base = { fd: 7, offset: 4096, length: 8192, access: LOCAL_WRITE };
  for (
    const [code, init, hint] of [
      ["EBADF", {}, "fd is not open"],
      ["EINVAL", {}, "fd is no DMA buffer, or offset and length are beyond its end"],
      [
        "EINVAL",
        { access: REMOTE_WRITE },
        "REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE as well",
      ],
      ["EINVAL", { iova: 64 }, "offset and iova must have the same place within a page"],
      ["EINVAL", { iova: 8192 }, "fd is no DMA buffer, or offset and length are beyond its end"],
      [
        "EINVAL",
        { access: ON_DEMAND },
        "DMA buffers take no access but LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC and RELAXED_ORDERING",
      ],
      ["EFAULT", {}, undefined],
      ["EPERM", { iova: 64 }, undefined],
    ] as const
  ) {
    recorder.fail("ibv_reg_dmabuf_mr", code);
    const refused = (): unknown => new DmaBufMemoryRegion(pd, { ...base, ...init });
    const error = assertThrows(refused, VerbsError);
    assertEquals([error.code, error.hint], [code, hint]);
  }
});

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
  assertThrows(() => mr.sge(0, 1).bytes, RangeError, "the region has not allocated it");
  assertThrows(() => mr.sge(slices[0]!.offset, 101).bytes, RangeError, "length");
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

onPd.test("ProtectionDomain.import() and MemoryRegion.import() give those of the other process", (recorded) => {
  const { context, pd } = recorded;
  using mr = new MemoryRegion(pd, 4096, LOCAL_WRITE);
  {
    using other = ProtectionDomain.import(context, pd.handle);
    using imported = MemoryRegion.import(other, mr.handle, mr.addr);
    assertEquals([imported.addr, imported.length], [mr.addr, 4096]);
    assertEquals([imported.lkey, imported.rkey], [mr.lkey, mr.rkey]);
    assertEquals(imported.sge(8).addr, mr.addr + 8n);
    assertThrows(() => imported.bytes, TypeError, "not of this process");
  }
  const ends = recorder.take().map(({ verb }) => verb).filter((verb) =>
    /dereg|dealloc|unimp/.test(verb)
  );
  assertEquals(ends, ["ibv_unimport_mr", "ibv_unimport_pd"]);
  assertEquals(mr.disposed, false);
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
  assertEquals([mr.addr, mr.length, mr.sge(4).addr], [0n, 32, 4n]);
  using rest = new DeviceMemoryRegion(pd, dm, { dmOffset: 200, access: 0 });
  assertEquals(rest.length, 56);
  dm.close();
  assertEquals([mr.disposed, rest.disposed], [true, true]);
  assertEquals(Deno.inspect(dm), "DeviceMemory { disposed }");
});

onPd.test("DeviceMemoryRegion hints at ZERO_BASED only where the device may need it", ({ context, pd }) => {
  using dm = new DeviceMemory(context, { length: 64 });
  const hintOf = (code: "EINVAL" | "EBUSY", access: number): string | undefined => {
    recorder.fail("ibv_reg_dm_mr", code, { times: 1 });
    return assertThrows(() => new DeviceMemoryRegion(pd, dm, { access }), VerbsError).hint;
  };
  assertEquals(hintOf("EINVAL", LOCAL_WRITE), "The device may need ZERO_BASED");
  assertEquals(hintOf("EINVAL", ZERO_BASED), undefined);
  assertEquals(hintOf("EBUSY", LOCAL_WRITE), undefined);
});

onPd.test("DeviceMemory refuses what is not within it", ({ context, pd }) => {
  using dm = new DeviceMemory(context, { length: 64 });
  for (const [offset, length] of [[0, 65], [64, 1], [65, 0]] as const) {
    assertRefused(
      [() => dm.memcpyFrom(offset, length), RangeError, ""],
      [() => dm.memcpyTo(offset, new Uint8Array(length)), RangeError, ""],
    );
  }
  const lying = new Uint8Array(100);
  Object.defineProperty(lying, "length", { get: () => 4 });
  const region = (part: { dmOffset?: number; length?: number }) => () =>
    new DeviceMemoryRegion(pd, dm, { access: 0, ...part });
  assertRefused(
    [() => dm.memcpyTo(0, lying), RangeError, ""],
    [() => dm.memcpyTo(0, bad(new ArrayBuffer(8))), TypeError, "it is not a Uint8Array"],
    [region({ dmOffset: 65 }), RangeError, "dmOffset 65"],
    [region({ length: 65 }), RangeError, "length 65"],
    [region({ length: 0 }), RangeError, "length 0"],
    [() => new DeviceMemory(context, { length: 0 }), RangeError, "length"],
    [() => new DeviceMemory(context, { length: 8, logAlignReq: 64 }), RangeError, "logAlignReq"],
    [() => new MemoryRegion(pd, 0, 0), RangeError, "length 0"],
    [() => new DmaBufMemoryRegion(pd, { fd: 1, length: 0, access: 0 }), RangeError, "length"],
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

onPd.test("An ImplicitMemoryRegion has the bytes that it has allocated, and no others", ({ pd }) => {
  const mr = new ImplicitMemoryRegion(pd, 0);
  const { offset, length } = mr.allocate(100);
  assertEquals(mr.sge(offset + 1, length - 1).bytes.length, length - 1);
  assertThrows(() => mr.sge(offset + 1, length).bytes, RangeError, "length");
  for (const use of [() => mr.sge(offset + length, 1).bytes, () => mr.bytes]) {
    assertThrows(use, RangeError, "the region has not allocated it");
  }
});
