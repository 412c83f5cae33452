// Memory windows, as a provider receives them, and against hostile input.
import { assertEquals, assertThrows } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import { AccessFlags, MemoryRegion, QpType, SendFlags, VerbsError } from "../../../mod.ts";
import { structs } from "../../../ffi/layout.ts";
import { readField } from "../../../ffi/struct.ts";
import type { RecordedStruct } from "../../provider/records.ts";
import { MemoryWindow, MwType } from "../../../types/memory/memory_window.ts";
import { ParentDomain } from "../../../types/memory/parent_domain.ts";
import { onPd, testsWith } from "../recorded.ts";

const { LOCAL_WRITE, REMOTE_READ, MW_BIND } = AccessFlags;

const on = testsWith((fixture) => ({
  qp: fixture.qp(QpType.RC),
  mr: new MemoryRegion(fixture.pd, 4096, LOCAL_WRITE | MW_BIND),
  mw: new MemoryWindow(fixture.pd, MwType.TYPE_1),
}));

onPd.test("MemoryWindow is allocated with its type", ({ pd }) => {
  for (const type of Object.values(MwType)) {
    const mw = new MemoryWindow(pd, type);
    const { args } = recorder.takeOne("ibv_alloc_mw");
    assertEquals([args.type, mw.pd === pd, mw.type], [type, true, type]);
    assertEquals(Deno.inspect(mw), `MemoryWindow { type: "TYPE_${type}", rkey: ${mw.rkey} }`);
  }
});

on.test("MemoryWindow keeps the native region that it is bound to", ({ qp, mw, mr, pd }) => {
  const view = mr.bytes;
  qp.bindMw(mw, { bindInfo: { mr, mwAccessFlags: REMOTE_READ } });
  const { args } = recorder.takeOne("ibv_bind_mw");
  assertEquals((args["mw_bind"] as RecordedStruct).fields["send_flags"], SendFlags.SIGNALED);
  mr.close();
  assertEquals([mr.disposed, view.length], [true, 4096]);
  assertEquals(recorder.takeOf("ibv_dereg_mr"), []);
  const other = new MemoryRegion(pd, 4096, MW_BIND);
  qp.bindMw(mw, { bindInfo: { mr: other, mwAccessFlags: REMOTE_READ } });
  assertEquals([recorder.takeOf("ibv_dereg_mr").length, view.length], [1, 0]);
  other.close();
  assertEquals(recorder.takeOf("ibv_dereg_mr"), []);
  mw.close();
  assertEquals(recorder.takeOf("ibv_dereg_mr").length, 1);
});

on.test("ProtectionDomain.close() closes bound windows before their regions", ({ qp, mw, pd }) => {
  const later = new MemoryRegion(pd, 64, MW_BIND);
  qp.bindMw(mw, { bindInfo: { mr: later, mwAccessFlags: 0 } });
  pd.close();
  const ends = recorder.takeOf("ibv_dealloc_mw", "ibv_dereg_mr").map(({ verb }) => verb);
  assertEquals(ends.indexOf("ibv_dealloc_mw") < ends.lastIndexOf("ibv_dereg_mr"), true);
});

on.test("MemoryWindow does not keep the region when the provider refuses the bind", (windows) => {
  const { qp, mw, mr } = windows;
  recorder.fail("ibv_bind_mw", "EINVAL", { times: 1 });
  assertThrows(() => qp.bindMw(mw, { bindInfo: { mr, mwAccessFlags: 0 } }), VerbsError);
  mr.close();
  assertEquals(recorder.takeOf("ibv_dereg_mr").length, 1);
});

on.test("MemoryWindow in a parent domain is bound by queue pairs of its protection domain", (recorded) => {
  const { qp, pd } = recorded;
  using parent = new ParentDomain(pd);
  using mw = new MemoryWindow(parent, MwType.TYPE_1);
  using mr = new MemoryRegion(parent, 64, MW_BIND);
  qp.bindMw(mw, { bindInfo: { mr, mwAccessFlags: 0 } });
  assertEquals(recorder.takeOf("ibv_bind_mw").length, 1);
});

on.test("MemoryWindow is bound to the rest of its region if there is no length", ({ qp, mw, mr }) => {
  recorder.take();
  qp.bindMw(mw, { bindInfo: { mr, addr: mr.addr + 96n, mwAccessFlags: REMOTE_READ } });
  const { elements } = recorder.takeOne("ibv_bind_mw").args["mw_bind"] as RecordedStruct;
  const info = elements![0]!["bind_info"] as Uint8Array<ArrayBuffer>;
  const { length } = structs.ibv_mw_bind_info.fields;
  assertEquals(readField(new DataView(info.buffer, info.byteOffset), length), 4000n);
});
