// Calls on other threads for peers that do not answer, and who passes them.
import { assertEquals, assertRejects } from "@std/assert";
import { assertSpyCalls, type Stub, stub } from "@std/testing/mock";
import { nonblocking } from "../../../ffi/library.ts";
import { AddressHandle, QpState, QpType, ReplyPath, type WcAddress } from "../../../mod.ts";
import { RecorderObjects } from "../../provider/objects.ts";

/** A packet from a peer on InfiniBand, which is known by its LID. */
function from(slid: number): WcAddress {
  return { wcFlags: 0, slid, sl: 0, dlidPathBits: 0 };
}

class Bed extends RecorderObjects {
  readonly path: ReplyPath = new ReplyPath(this.pd, { portNum: 1, maxPending: 1000 });
  /** The LIDs of peers in the order in which the calls for them started, and what ends each call. */
  readonly started: number[] = [];
  readonly #ends: (() => void)[] = [];
  readonly #create = nonblocking().ibv_create_ah;
  readonly #held: Stub = stub(nonblocking(), "ibv_create_ah", async (pd, attr) => {
    const { buffer, byteOffset } = attr as Uint8Array<ArrayBuffer>;
    this.started.push(new DataView(buffer, byteOffset).getUint16(24, true));
    await new Promise<void>((resolve) => this.#ends.push(resolve));
    return await this.#create(pd, attr);
  }) as Stub;

  /** Datagrams of peers come, that do not answer. */
  flood(count: number): Promise<unknown>[] {
    return Array.from({ length: count }, (_, i) => this.path.toAsync(from(1000 + i)));
  }

  /** Ends calls, the one that started first before the others. */
  end(count: number = Infinity): void {
    for (const end of this.#ends.splice(0, count)) end();
  }

  /** Ends all calls, until these have their results. */
  async endAll(calls: readonly Promise<unknown>[]): Promise<void> {
    let left = true;
    const settled = Promise.allSettled(calls).then(() => left = false);
    while (left) {
      this.end();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await settled;
  }

  override [Symbol.dispose](): void {
    this.#held.restore();
    super[Symbol.dispose]();
  }
}

function test(title: string, body: (bed: Bed) => Promise<void>): void {
  Deno.test(title, async () => {
    using bed = new Bed();
    await body(bed);
  });
}

test("The program's own handle is made at once, though 58 strangers do not answer", async (bed) => {
  const strangers = bed.flood(58);
  const before = bed.started.length;
  const own = [
    AddressHandle.createAsync(bed.pd, { portNum: 1, dlid: 7 }),
    bed.path.toAddressAsync({ portNum: 1, dlid: 8 }),
    // One of the strangers, whom the program asks for itself.
    bed.path.toAddressAsync({ portNum: 1, dlid: 1057 }),
  ];
  assertEquals(bed.started.slice(before), [7, 8, 1057]);
  await bed.endAll([...strangers, ...own]);
});

test("A connection is made at once, though 58 senders of datagrams do not answer", async (bed) => {
  const strangers = bed.flood(58);
  for (const untrusted of [false, true]) {
    const qp = bed.qp(QpType.RC);
    qp.modify({ qpState: QpState.INIT, portNum: 1, pkeyIndex: 0, qpAccessFlags: 0 });
    await qp.modifyAsync({ minRnrTimer: 1 }, { untrusted });
  }
  await bed.endAll(strangers);
});

test("A sender that comes after 58 that do not answer starts before the rest of them", async (bed) => {
  const strangers = bed.flood(58);
  const before = bed.started.length;
  const honest = bed.path.toAsync(from(7));
  bed.end(1);
  await strangers[0];
  assertEquals([before, bed.started.slice(before)], [3, [7]]);
  bed.end();
  await honest;
  await bed.endAll(strangers);
  assertEquals(bed.started.length, 59);
});

test("Senders that do not answer hold no connection up, and connections that hang no sender", async (bed) => {
  const { promise: hold, resolve: go } = Promise.withResolvers<void>();
  const modify = nonblocking().ibv_modify_qp;
  using calls = stub(nonblocking(), "ibv_modify_qp", async (...args) => {
    await hold;
    return await modify(...args);
  });
  const hanging = Array.from({ length: 10 }, () => {
    const qp = bed.qp(QpType.RC);
    qp.modify({ qpState: QpState.INIT, portNum: 1, pkeyIndex: 0, qpAccessFlags: 0 });
    return qp.modifyAsync({ minRnrTimer: 1 }, { untrusted: true });
  });
  assertSpyCalls(calls, 3);
  const strangers = bed.flood(10);
  assertEquals(bed.started.length, 3);
  // The program has the rest of the eight.
  const own = [1, 2, 3].map((dlid) => AddressHandle.createAsync(bed.pd, { portNum: 1, dlid }));
  assertEquals(bed.started.slice(3), [1, 2]);
  go();
  await Promise.all(hanging);
  await bed.endAll([...strangers, ...own]);
});

test("Of more than 256 strangers that wait, the oldest one is refused", async (bed) => {
  const strangers = bed.flood(3 + 256 + 2);
  for (const oldest of strangers.splice(3, 2)) {
    await assertRejects(() => oldest, Deno.errors.Busy, "more than 256 others wait");
  }
  await bed.endAll(strangers);
  assertEquals(bed.started.length, 3 + 256);
});
