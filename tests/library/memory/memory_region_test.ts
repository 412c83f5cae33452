// Memory regions, as a provider receives them, and against hostile input.
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import { AccessFlags, MemoryRegion, type RemoteMemory, VerbsError } from "../../../mod.ts";
import { outputOf } from "../../subprocess.ts";
import { onPd } from "../recorded.ts";

const { LOCAL_WRITE } = AccessFlags;

onPd.test("MemoryRegion.remote survives JSON, and names the highest address", ({ pd }) => {
  const iova = 0xffff_ffff_ffff_f000n;
  using mr = new MemoryRegion(pd, 4096, LOCAL_WRITE, { iova });
  const remote: RemoteMemory = JSON.parse(JSON.stringify(mr.remote));
  assertEquals(remote, { addr: "0xfffffffffffff000", length: 4096, rkey: mr.rkey });
  assertEquals(BigInt(remote.addr), mr.addr);
});

/** Size of the address space of this process in bytes. */
function addressSpace(): number {
  return Number(Deno.readTextFileSync("/proc/self/statm").split(" ")[0]) * 4096;
}

onPd.test("MemoryRegion frees its memory when the registration fails", ({ pd }) => {
  recorder.fail("ibv_reg_mr", "ENOMEM");
  const register = (): void => {
    const error = assertThrows(() => new MemoryRegion(pd, 2 ** 30, 1), VerbsError);
    assertEquals([error.verb, error.code], ["ibv_reg_mr", "ENOMEM"]);
    assertStringIncludes(error.message, "(1073741824 bytes, access LOCAL_WRITE)");
  };
  register();
  const before = addressSpace();
  for (let i = 0; i < 20; i++) register();
  assert(addressSpace() - before < 2 ** 30, "the address space grows");
});

onPd.test("MemoryRegion names what memory lacks that cannot be registered", ({ pd }) => {
  const { HUGETLB, REMOTE_READ } = AccessFlags;
  for (
    const [code, access, hint] of [
      ["EFAULT", LOCAL_WRITE, "LOCAL_WRITE needs memory that may be written"],
      ["EFAULT", REMOTE_READ, "a file that is mapped shared and read-only"],
      ["EOPNOTSUPP", HUGETLB, "does not support HUGETLB"],
      ["EINVAL", HUGETLB, "the memory has no huge pages"],
      ["EINVAL", LOCAL_WRITE, undefined],
    ] as const
  ) {
    recorder.fail("ibv_reg_mr", code);
    const error = assertThrows(() => new MemoryRegion(pd, 4096, access), VerbsError);
    if (hint === undefined) assertEquals(error.hint, undefined);
    else assertStringIncludes(error.hint!, hint);
  }
});

onPd.test("MemoryRegion frees its memory when it is deregistered, and not before", ({ pd }) => {
  const mr = new MemoryRegion(pd, 2 ** 20, LOCAL_WRITE);
  const view = mr.bytes;
  recorder.fail("ibv_dereg_mr", "EBUSY", { times: 1 });
  assertThrows(() => mr.close(), VerbsError, "EBUSY");
  assertEquals(view.length, 2 ** 20);
  mr.close();
  assertEquals(view.length, 0);
});

onPd.test("MemoryRegion refuses a buffer whose getter closes the protection domain", ({ pd }) => {
  class Hostile extends Uint8Array {
    override get byteLength(): number {
      pd.close();
      return super.byteLength;
    }
  }
  assertThrows(() => new MemoryRegion(pd, new Hostile(100), 0), TypeError, "it is disposed");
});

onPd.test("MemoryRegion registers no bytes beyond a buffer, whatever a view says of itself", ({ pd }) => {
  for (const name of ["byteLength", "byteOffset", "buffer"]) {
    const bytes = new Uint8Array(new ArrayBuffer(64), 16, 32);
    Object.defineProperty(bytes, name, { get: () => 1 << 20 });
    assertThrows(() => new MemoryRegion(pd, bytes, 0), TypeError, "Cannot register memory");
  }
});

Deno.test("MemoryRegion in a Worker refuses the caller's buffer, and keeps its own memory when the Worker ends", async () => {
  const worker = `
    import ${JSON.stringify(import.meta.resolve("../../provider/recorder.ts"))};
    import { Context, MemoryRegion, ProtectionDomain } from ${
    JSON.stringify(import.meta.resolve("../../../mod.ts"))
  };
    using context = Context.open("recorder0");
    const pd = new ProtectionDomain(context);
    const refused = [];
    for (const source of [new ArrayBuffer(8), new SharedArrayBuffer(8), new Uint8Array(8)]) {
      try { new MemoryRegion(pd, source, 1); } catch (error) { refused.push(error.name + ": " + error.message); }
    }
    const mr = new MemoryRegion(pd, 1 << 20, 1);
    postMessage({ refused, addr: mr.addr });
    await new Promise(() => setInterval(() => {}, 1000));`;
  const printed = await outputOf(
    `const source = ${JSON.stringify(worker)};
    const file = await Deno.makeTempFile({ suffix: ".ts" });
    await Deno.writeTextFile(file, source);
    const worker = new Worker(new URL("file://" + file), { type: "module" });
    const { refused, addr } = await new Promise((resolve) => worker.onmessage = ({ data }) => resolve(data));
    worker.terminate();
    await new Promise((resolve) => setTimeout(resolve, 100));
    const start = addr.toString(16);
    const mapped = Deno.readTextFileSync("/proc/self/maps").split("\\n").some((line) => {
      const [from, to] = line.split(" ")[0].split("-").map((text) => BigInt("0x" + (text || 0)));
      return from <= addr && addr < to;
    });
    console.log(JSON.stringify({ refused, mapped }));`,
    { importMap: true },
  );
  const { refused, mapped } = JSON.parse(printed);
  assertEquals(mapped, true);
  assertEquals(refused.length, 3);
  for (const message of refused) {
    assertStringIncludes(message, "TypeError: Cannot register memory: in a Worker");
    assertStringIncludes(message, "new MemoryRegion(pd, length, access)");
    assertStringIncludes(message, "the device may still write to it");
  }
});
