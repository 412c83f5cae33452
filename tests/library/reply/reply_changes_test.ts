// What reply paths do when addresses change at the worst time, and when handles or paths are closed.
import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { stub } from "@std/testing/mock";
import * as recorder from "../../provider/recorder.ts";
import {
  AccessFlags,
  CompletionQueue,
  EventType,
  MemoryRegion,
  ReplyPath,
  type WcAddress,
  WorkCompletionList,
} from "../../../mod.ts";
import { structs } from "../../../ffi/layout.ts";
import { verbs } from "../../../ffi/library.ts";
import { clock } from "../../../wait/clock.ts";
import { PeerHandles } from "../../../types/reply/peer_handles.ts";
import type { AhCore } from "../../../types/address_handle/address_handle.ts";
import { onPd } from "../recorded.ts";

const { LID_CHANGE } = EventType;

/** A packet from a peer on InfiniBand, which is known by its LID. */
function from(slid: number): WcAddress {
  return { wcFlags: 0, slid, sl: 0, dlidPathBits: 0 };
}

onPd.test("ReplyPath makes a handle again when addresses change while it is made", ({ pd }) => {
  using path = new ReplyPath(pd, { portNum: 1 });
  const make = verbs().ibv_create_ah;
  let made = 0;
  using _stub = stub(verbs(), "ibv_create_ah", (pd, attr) => {
    if (++made === 1) recorder.sendAsyncEvent(LID_CHANGE, 1);
    return make(pd, attr);
  });
  const ah = path.to(from(5));
  assertEquals([made, path.size, recorder.live("ah")], [2, 1, 1]);
  assertStrictEquals(path.to(from(5)), ah);
});

onPd.test("ReplyPath makes another handle when its user closed the last one", ({ pd }) => {
  using path = new ReplyPath(pd, { portNum: 1 });
  const closed = path.to(from(5));
  closed.close();
  const ah = path.to(from(5));
  assertEquals([closed.disposed, ah.disposed], [true, false]);
});

onPd.test("ReplyPath.close() destroys the handles of before and after a change", ({ pd }) => {
  const path = new ReplyPath(pd, { portNum: 1 });
  path.to(from(5));
  path.invalidate();
  path.to(from(6));
  assertEquals(recorder.live("ah"), 2);
  path.close();
  assertEquals(recorder.live("ah"), 0);
});

onPd.test("ReplyPath reads the GID table again after a change, and not before", ({ pd }) => {
  using path = new ReplyPath(pd, { portNum: 1 });
  const reads = (): number => recorder.takeOf("_ibv_query_gid_table").length;
  path.to(from(5));
  assertEquals(reads(), 1);
  path.to(from(6));
  assertEquals(reads(), 0);
  recorder.sendAsyncEvent(EventType.GID_CHANGE, 1);
  path.to(from(5));
  assertEquals(reads(), 1);
});

onPd.test("A closed ReplyPath is not told of later changes, and gives out no handles", ({ pd }) => {
  const [closed, open] = [1, 2].map(() => new ReplyPath(pd, { portNum: 1 }));
  const mr = new MemoryRegion(pd, 64, AccessFlags.LOCAL_WRITE);
  const batch = new WorkCompletionList(1);
  closed!.toAt(batch, 0, mr, 0);
  closed!.close();
  assertThrows(() => closed!.toAt(batch, 0, mr, 0), TypeError, "it is disposed");
  assertThrows(() => closed!.to(from(5)), TypeError, "it is disposed");
  const attr = new DataView(new ArrayBuffer(structs.ibv_ah_attr.size));
  assertThrows(() => closed!.writeAttr(attr, batch, 0, mr, 0), TypeError, "it is disposed");
  recorder.sendAsyncEvent(LID_CHANGE, 1);
  open!.to(from(5));
});

onPd.test("ReplyPath.toAt() notices a change at the first poll of a later millisecond, or when it finds no address", (recorded) => {
  const { context, pd } = recorded;
  let now = 0;
  using _clock = stub(clock, "now", () => now);
  using path = new ReplyPath(pd, { portNum: 1 });
  const cq = new CompletionQueue(context, { cqe: 4 });
  const mr = new MemoryRegion(pd, 64, AccessFlags.LOCAL_WRITE);
  const batch = new WorkCompletionList(1);
  const answer = (): ReturnType<ReplyPath["toAt"]> => {
    recorder.complete("cq0", { slid: 5 });
    assertEquals(cq.pollInto(batch), 1);
    return path.toAt(batch, 0, mr, 0);
  };
  const reads = (): number => recorder.takeOf("ibv_get_async_event").length;
  const first = answer();
  reads();
  assertStrictEquals(answer(), first);
  recorder.sendAsyncEvent(LID_CHANGE, 1);
  assertStrictEquals(answer(), first);
  assertEquals(reads(), 0);
  now++;
  const second = answer();
  assert(second !== first);
  assertStrictEquals(answer(), second);
  recorder.sendAsyncEvent(LID_CHANGE, 1);
  {
    const { find } = PeerHandles.prototype;
    let finds = 0;
    using _find = stub(
      PeerHandles.prototype,
      "find",
      function (this: PeerHandles, words): AhCore | undefined {
        if (++finds === 1) throw new Error("there is no such GID yet");
        return find.call(this, words);
      },
    );
    assert(answer() !== second);
  }
});
