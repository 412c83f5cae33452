// Reply paths on Elastic Fabric Adapters, which the stub stands in for: by the number of a handle, or by a GID.

import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { efaAhNumber, type EfaWorkCompletion, EfaWorkCompletionList } from "../../../efa.ts";
import {
  type AddressHandle,
  ReplyPath,
  type ReplyPathInit,
  SendRequestList,
  type WorkCompletionList,
} from "../../../mod.ts";
import { efaTest, End, type Fabric, QKEY, STRANGER, take } from "./adapters.ts";

/** A server with a reply path. One client is on the other adapter, one on the server's own. */
class Talk {
  readonly path: ReplyPath;
  readonly server: End;
  readonly far: End;
  readonly near: End;
  readonly #handles: Map<End, AddressHandle>;

  constructor({ left, right, neighbour }: Fabric, init: Partial<ReplyPathInit> = {}) {
    this.server = new End(right);
    [this.far, this.near] = [new End(left), new End(neighbour)];
    this.path = new ReplyPath(right.pd, { portNum: 1, ...init });
    this.#handles = new Map([this.far, this.near].map((end) => [end, end.adapter.to(right)]));
  }

  /** Lets somebody write to the server. The result is that of the server's poll. */
  async hear<T>(from: End, poll: () => T | Promise<T>): Promise<T> {
    this.server.receive(0);
    from.send(64, this.#handles.get(from)!, this.server);
    assertEquals((await take(from.cq, 1))[0]!.status, 0);
    return await poll();
  }

  /** The completion of what somebody wrote. */
  wc(from: End): Promise<EfaWorkCompletion> {
    return this.hear(from, async () => (await take(this.server.cq, 1) as EfaWorkCompletion[])[0]!);
  }

  /** A batch with the completion of what somebody wrote. */
  batch<B extends WorkCompletionList>(from: End, batch: B): Promise<B> {
    return this.hear(from, () => {
      assertEquals(this.server.cq.pollInto(batch), 1);
      return batch;
    });
  }

  /** Answers, and shows that the answer arrives. */
  async answer(to: End, ah: AddressHandle): Promise<void> {
    to.receive(128);
    this.server.send(0, ah, to);
    assertEquals((await take(this.server.cq, 1))[0]!.status, 0);
    assertEquals((await take(to.cq, 1))[0]!.wrId, 128n);
  }
}

efaTest("A path finds a stranger by its GID, and then by its number", async (fabric) => {
  const talk = new Talk(fabric);
  const { path, far, near } = talk;
  const found: [slid: number, ah: AddressHandle][] = [];
  for (const from of [far, near, far, near]) {
    const wc = await talk.wc(from);
    const ah = found.length % 2 === 0 ? path.to(wc) : await path.toAsync(wc);
    assertEquals(path.attr(wc).grh.dgid, from.adapter.context.queryGid(1, 0));
    await talk.answer(from, ah);
    found.push([wc.slid, ah]);
  }
  const [first, second, third, fourth] = found;
  assertEquals([first![0], second![0]], [STRANGER, STRANGER]);
  assertEquals([third![0], fourth![0]], [efaAhNumber(first![1]), efaAhNumber(second![1])]);
  assertStrictEquals(third![1], first![1]);
  assertStrictEquals(fourth![1], second![1]);
  assertEquals(path.size, 2);
});

efaTest("A path answers a batch, and tells the address", async (fabric) => {
  const talk = new Talk(fabric);
  const { path, far, near, server: { adapter: { mr } } } = talk;
  const batch = new EfaWorkCompletionList(4);
  const attr = new DataView(new ArrayBuffer(32));
  const requests = new SendRequestList({ capacity: 1 });
  for (const [i, from] of [far, near, far, near].entries()) {
    await talk.batch(from, batch);
    const gid = from.adapter.context.queryGid(1, 0);
    path.writeAttr(attr, batch, 0, mr, 0);
    assertEquals(new Uint8Array(attr.buffer, 0, 16), gid.bytes);
    requests.set(0, { sge: mr.sge(0, 64), remoteQpn: batch.srcQp(0), remoteQkey: QKEY });
    requests.setAh(0, path.toAt(batch, 0, mr, 0));
    from.receive(128);
    talk.server.qp.postSend(requests);
    assertEquals((await take(from.cq, 1))[0]!.wrId, 128n);
    await take(talk.server.cq, 1);
    assertEquals([batch.slid(0) === STRANGER, path.size], [i < 2, Math.min(i + 1, 2)]);
  }
  assertThrows(() => path.toAt(batch, 4, mr, 0), RangeError, "completion 4");
});
