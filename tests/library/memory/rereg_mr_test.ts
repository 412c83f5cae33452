// Changes of memory regions: each flag, each return code, and what becomes of the memory.
import { assertEquals, assertThrows } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import { MemoryRegion, ProtectionDomain, VerbsError } from "../../../mod.ts";
import { bufferAddress } from "../../../ffi/pointers.ts";
import { reregMr } from "../../../types/memory/rereg_mr.ts";
import { onPd } from "../recorded.ts";

const TRANSLATION = 1;
const PD = 2;
const ACCESS = 4;

/** The arguments of the only change. */
function changed(): Record<string, string> {
  const { args } = recorder.takeOne("ibv_rereg_mr");
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, String(value)]));
}

onPd.test("reregMr() moves a region to another protection domain", ({ context, pd }) => {
  const other = new ProtectionDomain(context);
  const mr = new MemoryRegion(pd, 4096, 0);
  const next = reregMr(mr, { pd: other });
  const { flags, pd: given } = changed();
  assertEquals([flags, given], [String(PD), "pd1"]);
  assertEquals(next.pd, other);
  pd.close();
  assertEquals(next.disposed, false);
  other.close();
  assertEquals(next.disposed, true);
});

onPd.test("reregMr() registers other memory, and frees the old memory", (recorded) => {
  const mr = new MemoryRegion(recorded.pd, 4096, 0);
  const old = mr.bytes;
  const next = reregMr(mr, { source: 8192 });
  const { flags, addr, length } = changed();
  assertEquals([flags, BigInt(addr!), length], [String(TRANSLATION), next.addr, "8192"]);
  assertEquals([old.length, next.length, next.bytes.length], [0, 8192, 8192]);
  const bytes = new Uint8Array(64);
  using last = reregMr(next, { source: bytes, access: 1, pd: recorded.pd });
  assertEquals(changed().flags, String(TRANSLATION | PD | ACCESS));
  assertEquals([last.addr, last.length], [bufferAddress(bytes), 64]);
});

onPd.test("reregMr() refuses requests that were made with the old object", ({ pd }) => {
  const mr = new MemoryRegion(pd, 4096, 0);
  const slice = mr.sge(0, 10);
  using _next = reregMr(mr, { access: 1 });
  for (const use of [() => slice.bytes, () => mr.sge(0), () => reregMr(mr, { access: 0 })]) {
    assertThrows(use, TypeError, "it is disposed");
  }
  mr.close();
  assertEquals(recorder.takeOf("ibv_dereg_mr"), []);
});

for (const [code, name] of [[-1, "ERR_INPUT"], [-2, "ERR_DONT_FORK_NEW"]] as const) {
  onPd.test(`reregMr() leaves the region as it is after ${name}`, ({ pd }) => {
    using mr = new MemoryRegion(pd, 4096, 0);
    recorder.fail("ibv_rereg_mr", "EINVAL", { result: BigInt(code) });
    const error = assertThrows(() => reregMr(mr, { source: 4096 }), VerbsError);
    assertEquals([error.verb, error.code], ["ibv_rereg_mr", "EINVAL"]);
    assertEquals([mr.disposed, mr.bytes.length], [false, 4096]);
  });
}

onPd.test("reregMr() succeeds when only the old memory could not be given to child processes", (recorded) => {
  const { pd } = recorded;
  const mr = new MemoryRegion(pd, 4096, 0);
  recorder.fail("ibv_rereg_mr", "ENOMEM", { result: -3n });
  using next = reregMr(mr, { source: 8192 });
  assertEquals([mr.disposed, next.length], [true, 8192]);
});

for (const [code, name] of [[-4, "ERR_CMD"], [-5, "ERR_CMD_AND_DO_FORK_NEW"]] as const) {
  onPd.test(`reregMr() closes the region after ${name}, and frees both memories`, ({ pd }) => {
    const mr = new MemoryRegion(pd, 4096, 0);
    const view = mr.bytes;
    recorder.fail("ibv_rereg_mr", "EIO", { result: BigInt(code) });
    const before = mapped();
    const error = assertThrows(() => reregMr(mr, { source: 2 ** 30 }), VerbsError);
    assertEquals([error.code, mr.disposed, view.length], ["EIO", true, 0]);
    assertEquals(recorder.takeOf("ibv_dereg_mr").length, 1);
    assertEquals(mapped() - before < 2 ** 29, true);
  });
}

function mapped(): number {
  return Number(Deno.readTextFileSync("/proc/self/statm").split(" ")[0]) * 4096;
}

onPd.test("reregMr() keeps both memories while the failed region cannot be deregistered", (recorded) => {
  const { pd } = recorded;
  const mr = new MemoryRegion(pd, 4096, 0);
  const view = mr.bytes;
  recorder.fail("ibv_rereg_mr", "EIO", { result: -4n });
  recorder.fail("ibv_dereg_mr", "EBUSY", { times: 1 });
  assertThrows(() => reregMr(mr, { source: 4096 }), SuppressedError);
  assertEquals([mr.disposed, view.length], [true, 4096]);
  mr.close();
  assertEquals(view.length, 0);
});

onPd.test("reregMr() leaves the region as it is when the provider cannot change regions", (recorded) => {
  const { pd } = recorded;
  using mr = new MemoryRegion(pd, 4096, 0);
  recorder.fail("ibv_rereg_mr", "EOPNOTSUPP", { result: -4n });
  const error = assertThrows(() => reregMr(mr, { access: 1 }), VerbsError);
  assertEquals([error.notSupported, mr.disposed, mr.bytes.length], [true, false, 4096]);
});
