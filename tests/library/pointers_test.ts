// Addresses and pointers, and memory that outlives what JavaScript knows of it.
import { assert, assertEquals, AssertionError, assertThrows } from "@std/assert";
import { libc } from "../../ffi/libc.ts";
import { isBelow } from "../../ffi/platform.ts";
import { keepInPlace, NativeMemory } from "../../ffi/native_memory.ts";
import {
  bufferAddress,
  bufferPointer,
  handleAddress,
  handleAt,
  nativeView,
  readPointers,
} from "../../ffi/pointers.ts";
import { outputOf } from "../subprocess.ts";

// Opened here, not in a test: it is never closed.
libc();

Deno.test("bufferPointer() refuses an empty view", () => {
  const view = Uint8Array.of(1, 2);
  assertEquals(handleAddress(bufferPointer(view)), bufferAddress(view));
  assertThrows(() => bufferPointer(new Uint8Array(0)), TypeError, "it is empty");
});

Deno.test("readPointers() reads as many as there are, and refuses NULL", () => {
  const array = bufferPointer(BigUint64Array.of(0x1000n, 0x2000n, 0n));
  assertEquals(readPointers(array, 2).map(handleAddress), [0x1000n, 0x2000n]);
  assertEquals(readPointers(array, 0), []);
  assertThrows(() => readPointers(array, 3), TypeError, "pointer 2: it is NULL");
});

Deno.test("NativeMemory is zeroed and page-aligned, and detached once it is freed", () => {
  const memory = new NativeMemory(5000);
  const bytes = new Uint8Array(memory.buffer);
  assertEquals(bytes.length, 5000);
  assert(bytes.every((byte) => byte === 0));
  assertEquals(bufferAddress(bytes) % 4096n, 0n);
  bytes[4999] = 1;
  memory.free();
  assertEquals(bytes.length, 0);
  memory.free();
});

Deno.test("NativeMemory.free() unmaps the memory, unless its buffer was transferred", () => {
  const memory = new NativeMemory(4096);
  const address = bufferAddress(memory.buffer);
  memory.free();
  assertEquals(isMapped(address), false);
  const given = new NativeMemory(4096);
  const moved = given.buffer.transfer();
  given.free();
  assertEquals(isMapped(bufferAddress(moved)), true);
});

Deno.test("NativeMemory throws RangeError when the system has not enough memory", () => {
  assertThrows(() => new NativeMemory(2 ** 50), RangeError, "there is not enough memory");
});

/** These may give a buffer that shares the memory, in place of throwing. */
const MAY_SHARE = isBelow(Deno.version.deno, "2.9.4") ? ["structuredClone()", "postMessage()"] : [];

const TRANSFERS: Readonly<Record<string, (buffer: ArrayBuffer) => unknown>> = {
  "transfer()": (buffer) => buffer.transfer(),
  "transfer(0)": (buffer) => buffer.transfer(0),
  "transferToFixedLength()": (buffer) => buffer.transferToFixedLength(),
  "structuredClone()": (buffer) => structuredClone(buffer, { transfer: [buffer] }),
  "postMessage()": (buffer) => {
    const { port1, port2 } = new MessageChannel();
    try {
      port1.postMessage(buffer, [buffer]);
    } finally {
      port1.close();
      port2.close();
    }
  },
};

Deno.test("keepInPlace() makes each way to transfer a buffer throw, or share it, and leaves the rest of its use alone", () => {
  for (const frozen of [false, true]) {
    for (const [name, transfer] of Object.entries(TRANSFERS)) {
      const buffer = new ArrayBuffer(64);
      if (frozen) Object.freeze(buffer);
      const bytes = new Uint8Array(buffer).fill(7);
      for (let i = 0; i < 2; i++) keepInPlace(buffer);
      try {
        transfer(buffer);
        assert(MAY_SHARE.includes(name), `${name} of a buffer ${frozen ? "that is frozen" : ""}`);
      } catch (error) {
        if (error instanceof AssertionError) throw error;
      }
      assertEquals([buffer.detached, bytes[63]], [false, 7], name);
      assertEquals(structuredClone(bytes), bytes);
    }
  }
});

Deno.test("keepInPlace() keeps the memory mapped, whatever becomes of a buffer that shares it", async () => {
  const buffer = new ArrayBuffer(1 << 22);
  keepInPlace(buffer);
  const address = bufferAddress(buffer);
  for (const length of [0, 64, 1 << 22, 1 << 25]) {
    new Uint8Array(buffer).fill(7);
    try {
      structuredClone(buffer, { transfer: [buffer] }).transfer(length);
    } catch {
      // Nothing shares it in this version.
    }
    for (let i = 0; i < 3; i++) {
      (globalThis as unknown as { gc: () => void }).gc();
      await new Promise((resolve) => setTimeout(resolve));
    }
    const found = [bufferAddress(buffer), isMapped(address), new Uint8Array(buffer).at(-1)];
    assertEquals(found, [address, true, 7], `${length}`);
  }
});

Deno.test("keepInPlace() leaves memory of the library detachable", () => {
  const memory = new NativeMemory(65536);
  keepInPlace(memory.buffer);
  memory.free();
  assertEquals(memory.buffer.detached, true);
});

Deno.test("keepInPlace() refuses the memory of a WebAssembly.Memory, which can still grow", () => {
  const memory = new WebAssembly.Memory({ initial: 1 });
  assertThrows(
    () => keepInPlace(memory.buffer as ArrayBuffer),
    TypeError,
    "Cannot register memory: the buffer belongs to a WebAssembly.Memory, which may move or free it",
  );
  memory.grow(1);
  assertEquals(memory.buffer.byteLength, 2 * 65536);
});

Deno.test("keepInPlace() takes other buffers that start on a page, of any length", () => {
  for (const length of [65536, 65537]) {
    const { buffer: { byteLength }, buffer } = new NativeMemory(length);
    const copy = nativeView(handleAt(bufferAddress(buffer))!, byteLength).buffer;
    keepInPlace(copy);
    assertThrows(() => copy.transfer(), TypeError);
    assertEquals(copy.byteLength, length);
  }
});

Deno.test("keepInPlace() refuses every buffer where Deno cannot keep it in place", async () => {
  const script = `
    import { keepInPlace } from FFI/native_memory;
    const { process } = globalThis;
    const { getBuiltinModule } = process;
    const nothing = { markAsUntransferable: () => {} };
    const { markAsUntransferable } = getBuiltinModule("node:worker_threads");
    const first = { markAsUntransferable: (b) => b.byteLength === 8 && markAsUntransferable(b) };
    for (const module of [{}, nothing, null, first]) {
      if (module === null) delete globalThis.process;
      else Object.assign(globalThis, { process }).process.getBuiltinModule = () => module;
      const buffer = new ArrayBuffer(16);
      try {
        keepInPlace(buffer);
        console.log("kept");
      } catch ({ name, message }) {
        console.log(name, message.slice(0, 75), module === first || !buffer.detached);
      }
    }`;
  const refused =
    "TypeError Cannot register memory: this version of Deno cannot keep a buffer in place. true";
  assertEquals(await outputOf(script, {}), Array(4).fill(refused).join("\n"));
});

function isMapped(address: bigint): boolean {
  return Deno.readTextFileSync("/proc/self/maps").split("\n").some((line) => {
    const [start, end] = line.split(" ")[0]!.split("-").map((hex) => BigInt(`0x${hex || 0}`));
    return start! <= address && address < (end ?? 0n);
  });
}

Deno.test("pin() keeps a buffer that nothing else refers to until unpin()", async () => {
  const script = `
    import { pin, unpin } from FFI/native_memory;
    const collected = new Set();
    const registry = new FinalizationRegistry((name) => collected.add(name));
    function make(name) {
      const buffer = new ArrayBuffer(1 << 20);
      registry.register(buffer, name);
      return { buffer };
    }
    const known = (registration) => {
      pin(registration);
      return new WeakRef(registration);
    };
    make("free");
    known(make("pinned"));
    unpin(known(make("unpinned")).deref());
    for (let i = 0; i < 20; i++) {
      gc();
      await new Promise((resolve) => setTimeout(resolve));
    }
    console.log([...collected].sort().join());`;
  const prefix = ["env", "DENO_V8_FLAGS=--expose-gc"];
  assertEquals(await outputOf(script, { prefix }), "free,unpinned");
});
