// Windows of type 2 that are bound when the objects they were made from are closed.
import { assertEquals, assertThrows } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import {
  AccessFlags,
  Context,
  MemoryRegion,
  MemoryWindow,
  type MwBindInfo,
  MwType,
  ParentDomain,
  ProtectionDomain,
  QpType,
  QueuePairEx,
  SendOpsFlags,
  SendRequestList,
  VerbsError,
  WrOpcode,
} from "../../../mod.ts";
import { posted, record, type Recorded } from "../work/recorded.ts";
import { testsOn } from "../recorded.ts";

interface Windows extends Recorded {
  readonly mw: MemoryWindow;
  /** It is made after the window, and would be closed before it. */
  readonly later: QueuePairEx;
  readonly region: MemoryRegion;
}

function windows(domain: (pd: ProtectionDomain) => ProtectionDomain = (pd) => pd): Windows {
  const parts = record(QpType.RC);
  const { pd, cq } = parts;
  const region = new MemoryRegion(pd, 64, AccessFlags.LOCAL_WRITE | AccessFlags.MW_BIND);
  const mw = new MemoryWindow(domain(pd), MwType.TYPE_2);
  const later = new QueuePairEx(pd, {
    qpType: QpType.RC,
    sendCq: cq,
    recvCq: cq,
    cap: { maxSendWr: 4, maxRecvWr: 4 },
    sendOpsFlags: SendOpsFlags.BIND_MW,
  });
  recorder.take();
  return { ...parts, region, mw, later };
}

const on = testsOn(windows);

function bindingTo(mr: MemoryRegion): MwBindInfo {
  return { mr, mwAccessFlags: 0 };
}

type Step = (parts: Windows) => void;

/** Each way to post a request that binds a window. */
const BINDS: Record<string, Step> = {
  "as an object": ({ later, mw, region }) =>
    later.postSend({ opcode: WrOpcode.BIND_MW, mw, rkey: 1, bindInfo: bindingTo(region) }),
  "in a prepared list": ({ later, mw, region }) => {
    const list = new SendRequestList({ capacity: 1 });
    list.set(0, { opcode: WrOpcode.BIND_MW });
    list.setBindMw(0, mw, 1, bindingTo(region));
    later.postSend(list);
  },
  "by a WrBuilder": ({ later, mw, region }) => {
    const wr = later.wrStart();
    wr.bindMw(mw, 1, bindingTo(region));
    wr.complete();
  },
};
const bind = BINDS["as an object"]!;

const CLOSES: Record<string, Step> = {
  "ProtectionDomain.close()": ({ pd }) => pd.close(),
  "Context.close()": ({ context }) => context.close(),
};

/** The windows and queue pairs that were destroyed, in this order. */
function ended(): unknown[] {
  return recorder.takeOf("ibv_dealloc_mw", "ibv_destroy_qp").map(({ args }) => args.mw ?? args.qp);
}

for (const [how, post] of Object.entries(BINDS)) {
  for (const [what, close] of Object.entries(CLOSES)) {
    on.test(`${what} closes a window that was bound ${how} before its queue pair`, (parts) => {
      post(parts);
      assertEquals(parts.mw.rkey, 1);
      close(parts);
      const order = ended();
      assertEquals(order.toSorted(), ["mw0", "qp0", "qp1"]);
      assertEquals(order.indexOf("mw0") < order.indexOf("qp1"), true, `${order}`);
      assertEquals([recorder.live("qp"), recorder.violations()], [0, []]);
    });
  }
}

for (const [how, post] of Object.entries(BINDS)) {
  on.test(`A window or a region of another protection domain is not bound ${how}`, (parts) => {
    using context = Context.open("recorder0");
    for (const pd of [new ProtectionDomain(parts.context), new ProtectionDomain(context)]) {
      const mw = new MemoryWindow(pd, MwType.TYPE_2);
      const region = new MemoryRegion(pd, 64, AccessFlags.MW_BIND);
      recorder.take();
      for (const other of [{ mw }, { region }]) {
        const attempt = (): void => post({ ...parts, ...other });
        assertThrows(attempt, TypeError, "belongs to another protection domain");
      }
      assertEquals(recorder.take().map(({ verb }) => verb), []);
    }
  });
}

Deno.test("ProtectionDomain.close() closes bound windows of a parent domain before their queue pair", () => {
  using parts = windows((pd) => new ParentDomain(pd));
  bind(parts);
  parts.pd.close();
  const order = ended();
  assertEquals(order.indexOf("mw0") < order.indexOf("qp1"), true, `${order}`);
  assertEquals(recorder.live("qp"), 0);
});

on.test("QueuePair.close() destroys a queue pair at once although a window is bound through it", (parts) => {
  bind(parts);
  parts.later.close();
  assertEquals(ended(), ["qp1"]);
  parts.mw.close();
  assertEquals(ended(), ["mw0"]);
});

on.test("A queue pair waits for no window that is bound through another one since", (parts) => {
  const { qp, mw, region, context } = parts;
  bind(parts);
  qp.postSend({ opcode: WrOpcode.BIND_MW, mw, rkey: 2, bindInfo: bindingTo(region) });
  context.close();
  assertEquals(ended(), ["qp1", "mw0", "qp0"]);
});

on.test("Context.close() can be tried again when a bound window cannot be deallocated", (parts) => {
  bind(parts);
  recorder.fail("ibv_dealloc_mw", "EBUSY", { times: 1 });
  assertThrows(() => parts.context.close(), VerbsError);
  assertEquals(ended(), ["qp0", "mw0"]);
  parts.context.close();
  assertEquals(ended(), ["mw0", "qp1"]);
  assertEquals([recorder.live(), recorder.violations()], [0, []]);
});

on.test("A request whose memory closes the region of its window while it is read is not posted", (parts) => {
  const { qp, mr, mw, region } = parts;
  const list = new SendRequestList({ capacity: 1 });
  const sge = {
    ...{ addr: mr.addr, lkey: mr.lkey },
    get length(): number {
      region.close();
      return 8;
    },
  };
  const request = { opcode: WrOpcode.BIND_MW, mw, rkey: 1, bindInfo: bindingTo(region), sge };
  assertThrows(() => list.set(0, request), TypeError, "memory region: it is disposed");
  qp.postSend(list);
  assertEquals(posted()[0]![0]!.wr.opcode, WrOpcode.SEND);
});

on.test("A request that binds no window any more may be posted when that window is closed", (parts) => {
  const { qp, mw, region } = parts;
  const list = new SendRequestList({ capacity: 1 });
  list.set(0, { opcode: WrOpcode.BIND_MW, mw, rkey: 1, bindInfo: bindingTo(region) });
  list.set(0, {});
  mw.close();
  qp.postSend(list);
  assertEquals(posted()[0]![0]!.wr.opcode, WrOpcode.SEND);
});
