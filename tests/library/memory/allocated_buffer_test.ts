// Memory of the provider, regions with all attributes, and DMA handles.
import { assertEquals, assertThrows } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import {
  AccessFlags,
  AllocatedBuffer,
  AllocatedBufferRegion,
  DmaHandle,
  MemoryRegion,
  MemoryRegionEx,
  ParentDomain,
  ProtectionDomain,
  reregMr,
  VerbsError,
} from "../../../mod.ts";
import { verbs } from "../../../ffi/library.ts";
import { bufferAddress } from "../../../ffi/pointers.ts";
import { onPd } from "../recorded.ts";
import { assertRefused, bad, fieldsOf } from "../refusals.ts";

const { LOCAL_WRITE, FLUSH_PERSISTENT } = AccessFlags;

onPd.test("AllocatedBuffer is zeroed memory, whose bytes its regions share", ({ pd }) => {
  using buffer = new AllocatedBuffer(pd, 5000);
  assertEquals(buffer.bytes, new Uint8Array(5000));
  assertEquals([buffer.pd, buffer.length, buffer.addr % 4096n], [pd, 5000, 0n]);
  using part = new AllocatedBufferRegion(buffer, LOCAL_WRITE, 4000);
  using other = new MemoryRegionEx(pd, { access: LOCAL_WRITE, buf: buffer, offset: 4000 });
  assertEquals([part.buf, part.length, part.addr], [buffer, 1000, buffer.addr + 4000n]);
  assertEquals([other.length, other.sge(8).addr], [1000, buffer.addr + 4008n]);
  part.sge(7, 1).bytes[0] = 9;
  assertEquals([buffer.bytes[4007], other.bytes[7]], [9, 9]);
});

onPd.test("AllocatedBuffer ends after its regions, and its bytes with it", ({ pd }) => {
  const buffer = new AllocatedBuffer(pd, 64);
  const mr = new AllocatedBufferRegion(buffer, 0);
  const bytes = buffer.bytes;
  recorder.take();
  buffer.close();
  assertEquals(recorder.take().map(({ verb }) => verb), ["ibv_dereg_mr", "ibv_free_buf"]);
  assertEquals([mr.disposed, bytes.length], [true, 0]);
  assertThrows(() => buffer.bytes, TypeError, "it is disposed");
});

onPd.test("AllocatedBuffer leaves memory that was transferred to its new owner", ({ pd }) => {
  const buffer = new AllocatedBuffer(pd, 64);
  const { unsafeHandle } = buffer;
  const taken = buffer.bytes.buffer.transfer();
  assertRefused([() => new AllocatedBufferRegion(buffer, 0), TypeError, "its memory is detached"]);
  buffer.close();
  assertEquals(recorder.takeOf("ibv_free_buf"), []);
  assertEquals(new Uint8Array(taken), new Uint8Array(64));
  verbs().ibv_free_buf(unsafeHandle);
});

onPd.test("AllocatedBuffer is registered by its regions only, which keep it", ({ pd }) => {
  using buffer = new AllocatedBuffer(pd, 64);
  const source = buffer.bytes;
  using other = new MemoryRegion(pd, 64, LOCAL_WRITE);
  assertRefused(
    [() => new MemoryRegion(pd, source, 0), TypeError, "AllocatedBufferRegion"],
    [() => new MemoryRegionEx(pd, { access: 0, source }), TypeError, "AllocatedBufferRegion"],
    [() => reregMr(other, { source: source.buffer }), TypeError, "AllocatedBufferRegion"],
  );
});

onPd.test("A changed region ends with what the region before it was made from", (on) => {
  const { context, pd } = on;
  const buf = new AllocatedBuffer(pd, 64);
  const dmah = new DmaHandle(context);
  const part = reregMr(new AllocatedBufferRegion(buf, 0), { access: LOCAL_WRITE });
  const other = reregMr(new MemoryRegionEx(pd, { access: 0, source: 8, dmah }), { source: 16 });
  recorder.take();
  buf.close();
  dmah.close();
  const ends = ["ibv_dereg_mr", "ibv_free_buf", "ibv_dereg_mr", "ibv_dealloc_dmah"];
  assertEquals(recorder.take().map(({ verb }) => verb), ends);
  assertEquals([part.disposed, other.disposed], [true, true]);
});

onPd.test("AllocatedBuffer and its regions refuse what is not within it", ({ pd }) => {
  using buffer = new AllocatedBuffer(pd, 64);
  assertRefused(
    [() => new AllocatedBuffer(pd, 0), RangeError, "length"],
    [() => new AllocatedBufferRegion(buffer, 0, 64), RangeError, "length"],
    [() => new AllocatedBufferRegion(buffer, 0, 1, 64), RangeError, "length"],
    [() => new MemoryRegionEx(pd, { access: 0, buf: buffer, length: 65 }), RangeError, "length"],
  );
});

onPd.test("MemoryRegionEx takes one kind of memory, of its own domain", ({ context, pd }) => {
  using buf = new AllocatedBuffer(pd, 64);
  using pd2 = new ProtectionDomain(context);
  const access = 0;
  assertRefused(
    [() => new MemoryRegionEx(pd, { access }), TypeError, "one of source, buf and fd"],
    [() => new MemoryRegionEx(pd, { access, source: 8, buf }), TypeError, "one of source"],
    [() => new MemoryRegionEx(pd, { access, fd: 5 }), TypeError, "length"],
    [() => new MemoryRegionEx(pd, { access, source: 8, length: 4 }), TypeError, "of buf and fd"],
    [() => new MemoryRegionEx(pd, { access, source: 8, offset: 4 }), TypeError, "of buf and fd"],
    [() => new MemoryRegionEx(pd2, { access, buf }), TypeError, "another protection domain"],
    [() => new MemoryRegionEx(pd, { access: 2 ** 32, source: 8 }), RangeError, "access"],
    [() => new MemoryRegionEx(pd, bad({ access, source: 8, dmah: pd })), TypeError, "dmah"],
    [() => new MemoryRegionEx(pd, bad({ access, sauce: 8 })), TypeError, "memory region"],
    [() => new DmaHandle(context, bad({ cpu: 8 })), TypeError, "DMA handle"],
  );
});

onPd.test("MemoryRegionEx has the addresses that it is given, or those of the memory", ({ pd }) => {
  const bytes = new Uint8Array(64);
  using own = new MemoryRegionEx(pd, { access: LOCAL_WRITE, source: bytes });
  assertEquals([own.addr, own.length], [bufferAddress(bytes), 64]);
  own.sge(3, 1).bytes[0] = 7;
  assertEquals(bytes[3], 7);
  using moved = new MemoryRegionEx(pd, { access: 0, source: 64, iova: 0x1000 });
  assertEquals(moved.sge(8).addr, 0x1008n);
  recorder.take();
  using foreign = new MemoryRegionEx(pd, { access: 0, fd: 5, offset: 65536, length: 100 });
  assertEquals([foreign.addr, foreign.length], [65536n, 100]);
  assertEquals(Number(fieldsOf("ibv_reg_mr_ex", "mr_init_attr").iova), 65536);
  assertThrows(() => foreign.bytes, TypeError, "not of this process");
});

onPd.test("MemoryRegionEx says what FLUSH_PERSISTENT needs, and ends before its DMA handle", (on) => {
  const { context, pd } = on;
  recorder.fail("ibv_reg_mr_ex", "EINVAL", { times: 1 });
  const access = LOCAL_WRITE | FLUSH_PERSISTENT;
  const make = (): MemoryRegionEx => new MemoryRegionEx(pd, { access, source: 8 });
  assertThrows(make, VerbsError, "FLUSH_PERSISTENT needs persistent memory");
  const dmah = new DmaHandle(context);
  const mr = new MemoryRegionEx(pd, { access: 0, source: 8, dmah });
  recorder.take();
  dmah.close();
  assertEquals(recorder.take().map(({ verb }) => verb), ["ibv_dereg_mr", "ibv_dealloc_dmah"]);
  assertEquals(mr.disposed, true);
});

onPd.test("ParentDomain asks for memory that is not protected only if asked to", ({ pd }) => {
  const masks = [undefined, false, true].map((allow) => {
    const init = allow === undefined ? {} : { allowCcUnprotectedAlloc: allow };
    using _domain = new ParentDomain(pd, init);
    return fieldsOf("ibv_alloc_parent_domain").comp_mask;
  });
  assertEquals(masks, [0, 0, 4]);
});
