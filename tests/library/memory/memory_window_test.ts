// Memory windows, as a provider receives them, and against hostile input.
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import {
  AccessFlags,
  CompletionQueue,
  MemoryRegion,
  ProtectionDomain,
  QpType,
  QueuePair,
  VerbsError,
} from "../../../mod.ts";
import { incRkey, MemoryWindow, MwType } from "../../../types/memory/memory_window.ts";
import { ParentDomain } from "../../../types/memory/parent_domain.ts";
import { bindMw, type MwBind } from "../../../types/queue_pair/bind_mw.ts";
import { openRecorder, type Recorded } from "../recorded.ts";

const { LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, MW_BIND } = AccessFlags;

interface Windows extends Recorded {
  readonly qp: QueuePair;
  readonly mr: MemoryRegion;
  readonly mw: MemoryWindow;
}

function openWindows(type: MwType = MwType.TYPE_1): Windows {
  const recorded = openRecorder();
  const { context, pd } = recorded;
  const cq = new CompletionQueue(context, { cqe: 16, channel: null });
  const cap = { maxSendWr: 4, maxRecvWr: 4 };
  const qp = new QueuePair(pd, { type: QpType.RC, sendCq: cq, recvCq: cq, cap });
  const mr = new MemoryRegion(pd, 4096, LOCAL_WRITE | MW_BIND);
  const mw = new MemoryWindow(pd, type);
  recorder.take();
  return { ...recorded, qp, mr, mw };
}

for (const type of [MwType.TYPE_1, MwType.TYPE_2]) {
  Deno.test(`MemoryWindow is allocated and deallocated, of type ${type}`, () => {
    using recorded = openRecorder();
    const mw = new MemoryWindow(recorded.pd, type);
    assertEquals([mw.pd === recorded.pd, mw.type], [true, type]);
    assertEquals(Deno.inspect(mw), `MemoryWindow { type: "TYPE_${type}", rkey: ${mw.rkey} }`);
    mw.close();
    const [alloc, dealloc] = recorder.take();
    assertEquals([alloc?.verb, Number(alloc?.args.type)], ["ibv_alloc_mw", type]);
    assertEquals([dealloc?.verb, dealloc?.args.mw], ["ibv_dealloc_mw", "mw0"]);
    assertThrows(() => mw.rkey, TypeError, "it is disposed");
  });
}

Deno.test("MemoryWindow refuses bad arguments before native code is reached", () => {
  using recorded = openRecorder();
  for (const type of [0, 3, -1]) {
    assertThrows(() => new MemoryWindow(recorded.pd, type as MwType), RangeError, "type");
  }
  for (const type of [null, undefined, "TYPE_1"]) {
    assertThrows(() => new MemoryWindow(recorded.pd, type as never), TypeError, "type");
  }
  assertThrows(() => new MemoryWindow({} as never, 1), TypeError, "not a ProtectionDomain");
  assertEquals(recorder.take(), []);
  recorder.fail("ibv_alloc_mw", "EINVAL");
  assertThrows(() => new MemoryWindow(recorded.pd, 2), VerbsError, "TYPE_2");
});

Deno.test("incRkey() adds one to the lowest 8 bits", () => {
  assertEquals([0, 0x12ff, 0xffff_ffff, 0x8000_0001].map(incRkey), [
    1,
    0x1200,
    0xffff_ff00,
    0x8000_0002,
  ]);
  assertThrows(() => incRkey(2 ** 32), RangeError, "rkey");
  assertThrows(() => incRkey("1" as never), TypeError, "rkey");
});

Deno.test("bindMw() gives the provider the window and the memory", () => {
  using windows = openWindows();
  const { qp, mw, mr } = windows;
  const memory = mr.slice(64, 100);
  bindMw(qp, mw, { wrId: 9, memory, mwAccessFlags: REMOTE_READ | REMOTE_WRITE, fence: true });
  const { args } = recorder.takeOne("ibv_bind_mw");
  const { fields } = args.mw_bind as { fields: Record<string, unknown> };
  assertEquals([args.qp, args.mw], ["qp0", "mw0"]);
  const { wr_id, send_flags } = fields;
  assertEquals([wr_id, send_flags].map(Number), [9, 3]);
  const found = [fields["bind_info.length"], fields["bind_info.mw_access_flags"]];
  assertEquals(found.map(Number), [100, REMOTE_READ | REMOTE_WRITE]);
});

Deno.test("bindMw() unbinds a window when no memory is given", () => {
  using windows = openWindows();
  const { qp, mw, mr } = windows;
  bindMw(qp, mw, { memory: mr.slice(0), signaled: false });
  recorder.take();
  bindMw(qp, mw, {});
  const { args } = recorder.takeOne("ibv_bind_mw");
  const { fields } = args.mw_bind as { fields: Record<string, unknown> };
  const names = ["bind_info.addr", "bind_info.length", "bind_info.mw_access_flags", "send_flags"];
  assertEquals(names.map((name) => Number(fields[name])), [0, 0, 0, 2]);
});

Deno.test("MemoryWindow keeps the native region that it is bound to", () => {
  using windows = openWindows();
  const { qp, mw, mr, pd } = windows;
  const view = mr.bytes();
  bindMw(qp, mw, { memory: mr.slice(0), mwAccessFlags: REMOTE_READ });
  mr.close();
  assertEquals([mr.disposed, view.length], [true, 4096]);
  assertEquals(recorder.takeOf("ibv_dereg_mr"), []);
  const other = new MemoryRegion(pd, 4096, MW_BIND);
  bindMw(qp, mw, { memory: other.slice(0), mwAccessFlags: REMOTE_READ });
  assertEquals([recorder.takeOf("ibv_dereg_mr").length, view.length], [1, 0]);
  other.close();
  assertEquals(recorder.takeOf("ibv_dereg_mr"), []);
  mw.close();
  assertEquals(recorder.takeOf("ibv_dereg_mr").length, 1);
});

Deno.test("ProtectionDomain.close() closes bound windows before their regions", () => {
  using windows = openWindows();
  const { qp, mw, pd } = windows;
  const later = new MemoryRegion(pd, 64, MW_BIND);
  bindMw(qp, mw, { memory: later.slice(0) });
  pd.close();
  const ends = recorder.takeOf("ibv_dealloc_mw", "ibv_dereg_mr").map(({ verb }) => verb);
  assertEquals(ends.indexOf("ibv_dealloc_mw") < ends.lastIndexOf("ibv_dereg_mr"), true);
  assertEquals(recorder.violations(), []);
});

Deno.test("bindMw() does not keep the region when the provider refuses", () => {
  using windows = openWindows();
  const { qp, mw, mr } = windows;
  recorder.fail("ibv_bind_mw", "EINVAL", { times: 1 });
  const error = assertThrows(() => bindMw(qp, mw, { memory: mr.slice(0) }), VerbsError);
  assertStringIncludes(error.hint!, "is in state RESET, and binding needs RTS");
  mr.close();
  assertEquals(recorder.takeOf("ibv_dereg_mr").length, 1);
});

Deno.test("bindMw() refuses a window of type 2", () => {
  using windows = openWindows(MwType.TYPE_2);
  const { qp, mw, mr } = windows;
  assertThrows(() => bindMw(qp, mw, { memory: mr.slice(0) }), TypeError, "it is of type 2");
  assertEquals(recorder.take(), []);
});

Deno.test("bindMw() refuses objects of other protection domains, and takes those of a parent domain", () => {
  using windows = openWindows();
  const { qp, mw, context, pd } = windows;
  using other = new ProtectionDomain(context);
  using foreign = new MemoryRegion(other, 64, MW_BIND);
  const message = "it belongs to another protection domain";
  assertThrows(() => bindMw(qp, mw, { memory: foreign.slice(0) }), TypeError, message);
  using window = new MemoryWindow(other, MwType.TYPE_1);
  assertThrows(() => bindMw(qp, window, { memory: foreign.slice(0) }), TypeError, message);
  using parent = new ParentDomain(pd);
  using inParent = new MemoryWindow(parent, MwType.TYPE_1);
  using memory = new MemoryRegion(parent, 64, MW_BIND);
  bindMw(qp, inParent, { memory: memory.slice(0) });
});

const BAD: [string, unknown, string][] = [
  ["null", null, "Cannot use bind null"],
  ["an unknown attribute", { mr: {} }, 'there is no attribute "mr"'],
  ["memory that is no slice", { memory: { addr: 0n, length: 5, lkey: 1 } }, "not a MemorySlice"],
  ["a flag that is no boolean", { signaled: 1 }, "it is not a boolean"],
  ["access that is text", { mwAccessFlags: "REMOTE_READ" }, "mwAccessFlags"],
  ["a wrId that is text", { wrId: "1" }, "wrId"],
];
for (const [what, bind, message] of BAD) {
  Deno.test(`bindMw() refuses ${what} before native code is reached`, () => {
    using windows = openWindows();
    const { qp, mw } = windows;
    assertThrows(() => bindMw(qp, mw, bind as MwBind), TypeError, message);
    assertEquals(recorder.take(), []);
  });
}

Deno.test("bindMw() reads all of its input before it takes handles", () => {
  using windows = openWindows();
  const { qp, mw, mr } = windows;
  const memory = mr.slice(0);
  for (const closed of [mr, mw, qp]) {
    const bind = {
      memory,
      get fence(): boolean {
        closed.close();
        return false;
      },
    };
    assertThrows(() => bindMw(qp, mw, bind), TypeError, "it is disposed");
  }
  assertEquals(recorder.takeOf("ibv_bind_mw"), []);
});
