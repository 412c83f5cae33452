// Memory regions, of their own memory and of the caller's.
import { assertEquals } from "@std/assert";
import { AccessFlags, MemoryRegion, type MemorySource } from "../../../mod.ts";
import { bufferAddress } from "../../../ffi/pointers.ts";
import { connectedPair, countOf, deviceTest, type Pair, rxe, waitFor } from "../setup.ts";

const { LOCAL_WRITE } = AccessFlags;

/** Sends the region's bytes, has them received into it again one further on, and gives those. */
async function throughDevice({ left, right }: Pair, mr: MemoryRegion): Promise<Uint8Array> {
  mr.bytes().set([1, 2, 3, 4, 5, 6, 7, 8]);
  right.qp.postRecv({ sge: mr.slice(16, 8) });
  left.qp.postSend({ sge: mr.slice(0, 8) });
  (await waitFor(left.cq))[0]!.check();
  (await waitFor(right.cq))[0]!.check();
  return mr.bytes(16, 8);
}

deviceTest("new MemoryRegion() makes zeroed memory that lies on a page", () => {
  using device = rxe();
  const before = countOf("mr");
  const mr = device.newMr(100_000);
  assertEquals(countOf("mr"), before + 1);
  assertEquals([mr.length, mr.addr % 4096n], [100_000, 0n]);
  assertEquals(mr.bytes(), new Uint8Array(100_000));
  assertEquals(bufferAddress(mr.bytes()), mr.addr);
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
