// Memory regions, of their own memory and of the caller's.
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { AccessFlags, MemoryRegion, type MemorySource, VerbsError } from "../../../mod.ts";
import { libc } from "../../../ffi/libc.ts";
import { bufferAddress, cString } from "../../../ffi/pointers.ts";
import { differs } from "../kernels.ts";
import { connectedPair, countOf, deviceTest, type Pair, rxe, waitFor } from "../setup.ts";

const { LOCAL_WRITE } = AccessFlags;

/** Sends the region's bytes, has them received into it again one further on, and gives those. */
async function throughDevice({ left, right }: Pair, mr: MemoryRegion): Promise<Uint8Array> {
  mr.bytes.set([1, 2, 3, 4, 5, 6, 7, 8]);
  right.qp.postRecv({ sge: mr.sge(16, 8) });
  left.qp.postSend({ sge: mr.sge(0, 8) });
  (await waitFor(left.cq))[0]!.check();
  (await waitFor(right.cq))[0]!.check();
  return mr.sge(16, 8).bytes;
}

deviceTest("new MemoryRegion() makes zeroed memory that lies on a page", () => {
  using device = rxe();
  const before = countOf("mr");
  const mr = device.newMr(100_000);
  assertEquals(countOf("mr"), before + 1);
  assertEquals([mr.length, mr.addr % 4096n], [100_000, 0n]);
  assertEquals(mr.bytes, new Uint8Array(100_000));
  assertEquals(bufferAddress(mr.bytes), mr.addr);
  mr.close();
  assertEquals(countOf("mr"), before);
});

const SOURCES: [string, () => MemorySource][] = [
  ["a length", () => 64],
  ["an ArrayBuffer", () => new ArrayBuffer(64)],
  ["a SharedArrayBuffer", () => new SharedArrayBuffer(64)],
  ["a Uint8Array", () => new Uint8Array(64)],
  ["a part of a buffer", () => new Uint8Array(new ArrayBuffer(5000), 777, 64)],
  ["a DataView", () => new DataView(new ArrayBuffer(200), 100, 64)],
  ["a Float64Array", () => new Float64Array(8)],
  ["a view of a SharedArrayBuffer", () => new Uint8Array(new SharedArrayBuffer(128), 33, 64)],
];

deviceTest("new MemoryRegion() has the device use memory of every kind", async () => {
  using pair = connectedPair();
  for (const [what, make] of SOURCES) {
    const source = make();
    using mr = new MemoryRegion(pair.pd, source, LOCAL_WRITE);
    assertEquals(mr.length, 64);
    assertEquals([...await throughDevice(pair, mr)], [1, 2, 3, 4, 5, 6, 7, 8], what);
    if (typeof source === "number") continue;
    assertEquals(bufferAddress(source), mr.addr);
    const { buffer, byteOffset } = ArrayBuffer.isView(source) ? source : new Uint8Array(source);
    assertEquals([...new Uint8Array(buffer, byteOffset + 16, 3)], [1, 2, 3], what);
  }
});

const PROT_READ = 1;
const MAP_SHARED = 1;

/** Maps a page of a file so that it can be read only. */
function readOnlyPage(path: string): Uint8Array<ArrayBuffer> {
  const fd = libc().open(cString(path), 0);
  const page = libc().mmap(null, 4096n, PROT_READ, MAP_SHARED, fd, 0n)!;
  libc().close(fd);
  return new Uint8Array(Deno.UnsafePointerView.getArrayBuffer(page, 4096));
}

deviceTest("new MemoryRegion() of read-only memory says what the access needs", () => {
  using device = rxe();
  const file = Deno.makeTempFileSync();
  try {
    Deno.writeFileSync(file, new Uint8Array(4096));
    const page = readOnlyPage(file);
    const error = assertThrows(() => new MemoryRegion(device.pd, page, LOCAL_WRITE), VerbsError);
    assertEquals(error.code, "EFAULT");
    assertStringIncludes(error.hint!, "LOCAL_WRITE needs memory that may be written");
    const register = (): void => new MemoryRegion(device.pd, page, 0).close();
    if (differs("readsSharedFiles")) return register();
    assertStringIncludes(assertThrows(register, VerbsError).hint!, "mapped shared and read-only");
  } finally {
    Deno.removeSync(file);
  }
});
