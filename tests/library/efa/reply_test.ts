// Reply paths on a recorder that is taken for an adapter: handles are made, kept and closed as the completions tell.

import { assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import "./fake.ts";
import * as recorder from "../../provider/recorder.ts";
import type { Label } from "../../provider/records.ts";
import { structs } from "../../../ffi/layout.ts";
import { Gid, ReplyPath, TransportType, VerbsError, type WcAddress } from "../../../mod.ts";
import { openRecorder, partsOf, type Recorded, testsOn } from "../recorded.ts";

interface Paths extends Recorded {
  readonly path: ReplyPath;
}

function openPath(): Paths {
  const recorded = partsOf(openRecorder());
  const { context, pd } = recorded;
  const device = { ...context.device, transportType: TransportType.UNSPECIFIED };
  Object.defineProperty(context, "device", { value: device });
  return { ...recorded, path: new ReplyPath(pd, { portNum: 1, maxPeers: 2 }) };
}

const on = testsOn(openPath);

/** A message from a sender of no known number. */
function stranger(last: number): WcAddress & { readonly sgid?: Gid | undefined } {
  const sgid = Gid.parse(`fe80::${last.toString(16)}`);
  return { wcFlags: 0, slid: 0xffff, sl: 0, dlidPathBits: 0, sgid };
}

on.test("A path makes one handle for a stranger, however it is asked", async ({ path }) => {
  const ah = path.to(stranger(1));
  assertStrictEquals(path.to(stranger(1)), ah);
  assertStrictEquals(await path.toAsync(stranger(1)), ah);
  assertStrictEquals(
    path.toAddress({ portNum: 1, grh: { dgid: Gid.parse("fe80::1"), sgidIndex: 0 } }),
    ah,
  );
  assertEquals(path.size, 1);
  const attr = path.attr(stranger(1));
  assertEquals([attr.isGlobal, attr.portNum, attr.grh.sgidIndex], [true, 1, 0]);
});

on.test("A path knows the number of a handle before a message can have it", async ({ path }) => {
  const made = path.toAsync(stranger(1));
  const { result } = recorder.takeOne("ibv_create_ah");
  const { offset } = structs.ibv_ah.fields.handle;
  const slid = new Deno.UnsafePointerView(recorder.pointerTo(result as Label)).getUint32(offset);
  assertEquals(path.attr({ ...stranger(1), slid }).grh.dgid, Gid.parse("fe80::1"));
  assertStrictEquals(path.to({ ...stranger(1), slid }), await made);
  await assertRejects(() => path.toAsync(stranger(2), { signal: AbortSignal.abort() }));
  assertEquals(path.size, 1);
});

on.test("Handles that are being made for one stranger are one", async ({ path }) => {
  const all = await Promise.all([1, 1, 2].map((last) => path.toAsync(stranger(last))));
  assertStrictEquals(all[0], all[1]);
  assertEquals(path.size, 2);
});

on.test("A peer that is forgotten keeps its handle for maxPeers answers", ({ path }) => {
  const first = path.to(stranger(1));
  path.to(stranger(2));
  path.to(stranger(3));
  assertEquals([path.size, first.disposed], [2, false]);
  path.to(stranger(3));
  assertEquals(first.disposed, false);
  path.to(stranger(3));
  path.toAddress({ portNum: 1, grh: { dgid: Gid.parse("fe80::3"), sgidIndex: 0 } });
  assertEquals([path.size, first.disposed], [2, true]);
});

on.test("What is no GID of a completion is refused, and nothing is made", async ({ path }) => {
  for (const sgid of ["fe80::1", 1, null, {}, new Uint8Array(16)]) {
    const wc = { ...stranger(1), sgid: sgid as never };
    assertThrows(() => path.to(wc), TypeError, "sgid");
    assertThrows(() => path.attr(wc), TypeError, "sgid");
    await assertRejects(() => path.toAsync(wc), TypeError, "sgid");
  }
  const nobody = { ...stranger(1), sgid: Gid.parse("::") };
  assertEquals(assertThrows(() => path.to(nobody), VerbsError).code, "ENODATA");
  assertEquals(path.size, 0);
});
